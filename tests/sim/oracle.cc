#include "sim/oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/exact_math.h"
#include "sampling/adaptive.h"
#include "sim/constraints.h"
#include "sim/fake_network.h"

namespace skald::sim {
namespace {

bool EndsText(const StopRules& stop, TokenId token) {
  return (!stop.ignore_eos && token == kEnd) ||
         std::find(stop.stop_tokens.begin(), stop.stop_tokens.end(), token) !=
             stop.stop_tokens.end();
}

bool EndsWith(const std::vector<TokenId>& tokens, const std::vector<TokenId>& stop) {
  return !stop.empty() && tokens.size() >= stop.size() &&
         std::equal(stop.begin(), stop.end(), tokens.end() - static_cast<int64_t>(stop.size()));
}

SamplingParams ParamsAt(const Request& request, int64_t output) {
  SamplingParams params = request.sampling;
  // A constraint knows of it, and may know better.
  if (output >= request.stop.min_tokens || request.constraint) return params;
  for (TokenId token = 0; token < kVocab; ++token) {
    if (EndsText(request.stop, token)) {
      params.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
    }
  }
  return params;
}

Answer EmbedAlone(const Request& request) {
  std::array<double, kVocab> sum = {};
  uint64_t number = kStart;
  uint64_t hash = kStart;
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    number = Chain(number, request.prompt[i], static_cast<int64_t>(i), request.cache_namespace);
    hash = Take(hash, number);
    if (request.pooling == Pooling::kLast && i + 1 < request.prompt.size()) continue;
    if (request.pooling == Pooling::kFirst && i > 0) continue;
    std::array<float, kVocab> hidden;
    FillLogits(hash, hidden);
    for (size_t k = 0; k < hidden.size(); ++k) sum[k] += hidden[k];
  }
  const double length = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
  Answer answer = {.tokens = {}};
  for (const double value : sum) answer.embedding.push_back(static_cast<float>(value / length));
  return answer;
}

// What a row of the model alone says behind a text.
std::array<float, kVocab> LogitsBehind(const Request& request, const std::vector<TokenId>& output) {
  uint64_t number = kStart;
  uint64_t hash = kStart;
  int64_t position = 0;
  for (const auto* part : {&request.prompt, &output}) {
    for (const TokenId token : *part) {
      number = Chain(number, token, position++, request.cache_namespace);
      hash = Take(hash, number);
    }
  }
  std::array<float, kVocab> logits;
  FillLogits(hash, logits);
  return logits;
}

// A text of a beam search: its sum while it grows, its score when it is finished.
struct BeamText {
  Answer answer;
  double value = 0;
};

// Extensions of all beams, best first; of equal ones that of the better beam, then the lower token.
std::vector<BeamText> ExtensionsOf(const Request& request, const std::vector<BeamText>& beams,
                                   sampling::Sampler* sampler) {
  std::vector<BeamText> extensions;
  for (const BeamText& beam : beams) {
    const std::vector<TokenId>& output = beam.answer.tokens;
    const auto logits = LogitsBehind(request, output);
    const auto best = sampler->Continuations(
        {.logits = logits, .prompt = request.prompt, .output = output, .key = {}},
        ParamsAt(request, static_cast<int64_t>(output.size())), kVocab);
    CHECK(best.ok());
    std::array<bool, kVocab> may_follow;
    may_follow.fill(true);
    if (request.constraint) may_follow = FollowingOf(request, output);
    std::vector<TokenLogprob> by_token(best->begin(), best->end());
    std::sort(by_token.begin(), by_token.end(),
              [](const auto& a, const auto& b) { return a.token < b.token; });
    for (const TokenLogprob& each : by_token) {
      if (!may_follow[static_cast<size_t>(each.token)]) continue;
      extensions.push_back(beam);
      extensions.back().answer.tokens.push_back(each.token);
      extensions.back().value += each.logprob;
    }
  }
  std::stable_sort(extensions.begin(), extensions.end(),
                   [](const BeamText& a, const BeamText& b) { return a.value > b.value; });
  return extensions;
}

// Why a text ends here, if it does.
std::optional<FinishReason> EndOf(const Request& request, const std::vector<TokenId>& output,
                                  int64_t context) {
  if (EndsText(request.stop, output.back())) return FinishReason::kStop;
  if (MustEnd(request, output)) return FinishReason::kStop;
  const auto length = static_cast<int64_t>(output.size());
  if (length == request.stop.max_tokens) return FinishReason::kLength;
  if (static_cast<int64_t>(request.prompt.size()) + length > context) return FinishReason::kContext;
  return std::nullopt;
}

// The beam search of transformers, written down once more: no pages, nothing shared, every text
// whole. Best first.
std::vector<BeamText> SearchAlone(const Request& request, int64_t context,
                                  sampling::Sampler* sampler) {
  const BeamParams& params = request.beam_search;
  const auto width = static_cast<size_t>(params.beams);
  const int64_t room = context + 1 - static_cast<int64_t>(request.prompt.size());
  const int64_t longest =
      request.stop.max_tokens < 0 ? room : std::min(request.stop.max_tokens, room);
  const auto score = [&](double sum, int64_t length) {
    return params.length_penalty == 0
               ? sum
               : sum / ExactPow(static_cast<double>(length), params.length_penalty);
  };
  std::vector<BeamText> beams(1);
  std::vector<BeamText> finished;
  for (int64_t length = 1; !beams.empty(); ++length) {
    const std::vector<BeamText> extensions = ExtensionsOf(request, beams, sampler);
    beams.clear();
    for (size_t i = 0; i < extensions.size() && beams.size() < width; ++i) {
      const auto end = EndOf(request, extensions[i].answer.tokens, context);
      if (!end) beams.push_back(extensions[i]);
      if (!end || i >= width) continue;
      finished.push_back(extensions[i]);
      finished.back().answer.reason = *end;
      finished.back().value = score(extensions[i].value, length);
    }
    std::stable_sort(finished.begin(), finished.end(),
                     [](const BeamText& a, const BeamText& b) { return a.value > b.value; });
    if (finished.size() < width) continue;
    finished.resize(width);
    if (beams.empty() || params.stop == BeamStop::kFirst) break;
    const bool patient = params.stop == BeamStop::kNever && params.length_penalty > 0;
    const double hope = score(beams.front().value, patient ? longest : length);
    if (hope <= finished.back().value) break;
  }
  return finished;
}

// The text of that rank, cut where its reader ends it.
Answer BeamAlone(const Client& client, size_t rank, int64_t context, sampling::Sampler* sampler) {
  const std::vector<BeamText> found = SearchAlone(client.request, context, sampler);
  if (rank >= found.size()) return {.tokens = {}};
  Answer answer = {.tokens = {}, .reason = found[rank].answer.reason, .score = found[rank].value};
  for (const TokenId token : found[rank].answer.tokens) {
    answer.tokens.push_back(token);
    if (!EndsWith(answer.tokens, client.reader.stop)) continue;
    answer.reason = FinishReason::kStop;
    break;
  }
  return answer;
}

}  // namespace

PromptLogprobs ScoreAlone(const Request& request, sampling::Sampler* sampler) {
  PromptLogprobs scores;
  uint64_t number = kStart;
  uint64_t hash = kStart;
  for (size_t i = 0; i + 1 < request.prompt.size(); ++i) {
    number = Chain(number, request.prompt[i], static_cast<int64_t>(i), request.cache_namespace);
    hash = Take(hash, number);
    std::array<float, kVocab> logits;
    FillLogits(hash, logits);
    // All of them, likeliest first: what an answer with log probabilities would report.
    const auto all = sampler->TopLogprobs(logits, kVocab);
    CHECK(all.ok());
    const auto found = std::find_if(all->begin(), all->end(), [&](const TokenLogprob& each) {
      return each.token == request.prompt[i + 1];
    });
    scores.tokens.push_back({.logprob = found->logprob, .rank = found - all->begin() + 1});
    scores.top.insert(scores.top.end(), all->begin(), all->begin() + *request.prompt_logprobs);
    scores.top_ends.push_back(scores.top.size());
  }
  return scores;
}

Answer RunAlone(const Client& client, int32_t index, int64_t context, sampling::Sampler* sampler) {
  const Request& request = client.request;
  Answer answer;
  if (request.pooling != Pooling::kNone) return EmbedAlone(request);
  if (request.stop.max_tokens == 0) return {.tokens = {}, .reason = FinishReason::kLength};
  if (MustEnd(request, {})) return {.tokens = {}, .reason = FinishReason::kStop};
  if (request.beam_search.beams > 0) {
    return BeamAlone(client, static_cast<size_t>(index), context, sampler);
  }
  uint64_t number = kStart;
  uint64_t hash = kStart;
  int64_t position = 0;
  const auto append = [&](TokenId token) {
    number = Chain(number, token, position, request.cache_namespace);
    hash = Take(hash, number);
    ++position;
  };
  for (const TokenId token : request.prompt) append(token);
  double mu = sampling::FirstMu(request.sampling.mirostat);
  for (;;) {
    std::array<float, kVocab> logits;
    FillLogits(hash, logits);
    Forbid(request, answer.tokens, logits);
    const auto output = static_cast<int64_t>(answer.tokens.size());
    const auto sampled = sampler->Sample({.logits = logits,
                                          .prompt = request.prompt,
                                          .output = answer.tokens,
                                          .key = {.seed = request.sampling.seed,
                                                  .sequence = static_cast<uint32_t>(index),
                                                  .position = static_cast<uint64_t>(position)},
                                          .mu = mu},
                                         ParamsAt(request, output));
    CHECK(sampled.ok());
    mu = sampled->mu;
    const TokenId token = sampled->token;
    answer.tokens.push_back(token);
    answer.reason = FinishReason::kStop;
    if (EndsText(request.stop, token) || EndsWith(answer.tokens, client.reader.stop)) return answer;
    if (MustEnd(request, answer.tokens)) return answer;
    answer.reason = FinishReason::kLength;
    if (output + 1 == request.stop.max_tokens) return answer;
    answer.reason = FinishReason::kContext;
    if (position == context) return answer;
    append(token);
  }
}

}  // namespace skald::sim
