#include "engine/request_check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

// Of a length: beyond this the shortest or the longest text wins whatever its words.
constexpr double kMaxPenalty = 10;

Status Invalid(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

Status CheckTokens(std::string_view what, std::span<const TokenId> tokens, int64_t vocab) {
  for (const TokenId token : tokens) {
    if (token >= 0 && token < vocab) continue;
    return Invalid(std::string(what) + std::to_string(token) + " is not in the vocabulary of " +
                   std::to_string(vocab));
  }
  return Ok();
}

Status CheckBeams(const Request& request) {
  const BeamParams& beams = request.beam_search;
  if (beams.beams == 0) return Ok();
  if (beams.beams < request.n) {
    return Invalid("beams is " + std::to_string(beams.beams) +
                   ", expected at least n = " + std::to_string(request.n));
  }
  if (!std::isfinite(beams.length_penalty) || std::fabs(beams.length_penalty) > kMaxPenalty) {
    return Invalid("length_penalty is " + std::to_string(beams.length_penalty) +
                   ", expected -10 to 10");
  }
  if (request.best_of != 0 || request.pooling != Pooling::kNone ||
      request.sampling.top_logprobs.has_value()) {
    return Invalid("beam search goes without best_of, embeddings and log probabilities");
  }
  return Ok();
}

Status CheckSequences(const Request& request, int64_t max_running) {
  const auto found = [](std::string_view field, int32_t value) {
    return std::string(field) + " is " + std::to_string(value);
  };
  if (request.n < 1) return Invalid(found("n", request.n) + ", expected 1 or more");
  if (request.pooling != Pooling::kNone && request.sequence_count() != 1) {
    return Invalid(found("the number of sequences", request.sequence_count()) +
                   ", expected 1: an embedding has no others");
  }
  if (request.best_of != 0 && request.best_of < request.n) {
    return Invalid(found("best_of", request.best_of) +
                   ", expected 0 or at least n = " + std::to_string(request.n));
  }
  RETURN_IF_ERROR(CheckBeams(request));
  const int64_t most = std::min<int64_t>(kMaxSequences, max_running);
  if (request.width() <= most) return Ok();
  return Invalid(found("the number of sequences", request.width()) + ", expected at most " +
                 std::to_string(most));
}

Status CheckPromptLogprobs(const Request& request) {
  if (!request.prompt_logprobs) return Ok();
  if (*request.prompt_logprobs < 0 || *request.prompt_logprobs > kMaxTopLogprobs) {
    return Invalid("prompt_logprobs is " + std::to_string(*request.prompt_logprobs) +
                   ", expected 0 to " + std::to_string(kMaxTopLogprobs));
  }
  if (request.pooling == Pooling::kNone && request.beam_search.beams == 0) return Ok();
  return Invalid("log probabilities of the prompt go without embeddings and beam search");
}

Status CheckPair(const Request& request, const RequestLimits& limits) {
  const auto length = static_cast<int64_t>(request.prompt.size());
  if (request.second_text < 0 || request.second_text > length) {
    return Invalid("second_text is " + std::to_string(request.second_text) + ", expected 0 to " +
                   std::to_string(length) + ", the tokens of the prompt");
  }
  if (!request.score) return Ok();
  if (!limits.rank_pooling) {
    return Status(ErrorCode::kUnsupported, "this model does not rank texts: it gives no scores");
  }
  if (request.pooling == *limits.rank_pooling) return Ok();
  return Invalid("the pooling of a score is " + std::string(PoolingName(request.pooling)) +
                 ", expected " + std::string(PoolingName(*limits.rank_pooling)));
}

Status CheckPlaces(const Request& request) {
  if (request.places.size() > kMaxPlaces) {
    return Invalid("there are " + std::to_string(request.places.size()) +
                   " places, expected at most " + std::to_string(kMaxPlaces));
  }
  int64_t before = 0;
  for (const int64_t place : request.places) {
    if (place <= before || place >= static_cast<int64_t>(request.prompt.size())) {
      return Invalid("a place is " + std::to_string(place) +
                     ", expected more than the one before and less than the " +
                     std::to_string(request.prompt.size()) + " tokens of the prompt");
    }
    before = place;
  }
  return Ok();
}

Status CheckTenant(const Request& request) {
  if (request.tenant_share < 1 || request.tenant_share > kMaxTenantShare) {
    return Invalid("tenant_share is " + std::to_string(request.tenant_share) + ", expected 1 to " +
                   std::to_string(kMaxTenantShare));
  }
  const int32_t most = request.tenant_running;
  if (most == 0 || most >= request.width()) return Ok();
  return Invalid("the number of sequences is " + std::to_string(request.width()) +
                 ", expected at most " + std::to_string(most) + ", the bound of its tenant");
}

Status CheckStop(const StopRules& stop, int64_t vocab) {
  RETURN_IF_ERROR(CheckTokens("stop token ", stop.stop_tokens, vocab));
  if (stop.min_tokens < 0 || (stop.max_tokens >= 0 && stop.min_tokens > stop.max_tokens)) {
    return Invalid("min_tokens is " + std::to_string(stop.min_tokens) +
                   ", expected 0 to max_tokens");
  }
  return Ok();
}

// A model may have more rows than its tokenizer has tokens: what fills up the matrix.
Status CheckConstraint(const Request& request, int64_t vocab) {
  if (!request.constraint || request.constraint->vocabulary().size() <= vocab) return Ok();
  return Invalid("the constraint is for a vocabulary of " +
                 std::to_string(request.constraint->vocabulary().size()) +
                 " tokens, expected at most the model's " + std::to_string(vocab));
}

// A sequence alone must fit, with one page more to copy a shared one into. The beams of a search
// must fit together, with what they share of the prompt counted once, and one page more for each:
// the one it fills next, or one that the tree keeps where beams branch.
Status CheckPages(const Request& request, const RequestLimits& limits) {
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  const int64_t output = request.pooling == Pooling::kNone ? request.stop.max_tokens : 0;
  const int64_t positions =
      output < 0 || output > limits.context - prompt ? limits.context : prompt + output;
  const int64_t sequence_pages = DivCeil<int64_t>(positions, kernels::kPageTokens);
  const int64_t shared = prompt / kernels::kPageTokens;
  const int64_t beams = request.beam_search.beams;
  const int64_t pages =
      beams > 0 ? shared + beams * (sequence_pages - shared + 1) + 1 : sequence_pages + 1;
  if (pages <= limits.page_count) return Ok();
  return Status(ErrorCode::kResourceExhausted,
                "the request can need " + std::to_string(pages) + " pages of KV (" +
                    std::to_string(positions) + " positions), there are " +
                    std::to_string(limits.page_count) + ": ask for fewer tokens");
}

}  // namespace

Status CheckPrompt(std::span<const TokenId> tokens, const RequestLimits& limits) {
  if (tokens.empty()) return Invalid("the prompt is empty");
  if (static_cast<int64_t>(tokens.size()) > limits.context) {
    return Status(ErrorCode::kResourceExhausted, "the prompt has " + std::to_string(tokens.size()) +
                                                     " tokens, the context has room for " +
                                                     std::to_string(limits.context));
  }
  return CheckTokens("token ", tokens, limits.vocab);
}

Status CheckGenerates(const RequestLimits& limits) {
  if (limits.generates) return Ok();
  return Status(ErrorCode::kUnsupported, limits.rank_pooling
                                             ? "this model ranks texts; it does not generate"
                                             : "this model embeds texts; it does not generate");
}

Status CheckRequest(const Request& request, const RequestLimits& limits) {
  if (request.pooling == Pooling::kNone) RETURN_IF_ERROR(CheckGenerates(limits));
  RETURN_IF_ERROR(CheckPrompt(request.prompt, limits));
  RETURN_IF_ERROR(Validate(request.sampling, limits.vocab));
  RETURN_IF_ERROR(CheckSequences(request, limits.max_running));
  RETURN_IF_ERROR(CheckPromptLogprobs(request));
  if (limits.has_states && request.beam_search.beams > 0) {
    return Status(ErrorCode::kUnsupported,
                  "this version has no beam search for models whose layers carry a state "
                  "(convolutions, linear attention): ask for samples (n) instead");
  }
  RETURN_IF_ERROR(CheckPair(request, limits));
  RETURN_IF_ERROR(CheckPlaces(request));
  RETURN_IF_ERROR(CheckTenant(request));
  RETURN_IF_ERROR(CheckStop(request.stop, limits.vocab));
  RETURN_IF_ERROR(CheckConstraint(request, limits.vocab));
  if (request.deadline_seconds && !(*request.deadline_seconds >= 0)) {
    return Invalid("the deadline is not a number of seconds from now");
  }
  return CheckPages(request, limits);
}

}  // namespace skald::engine
