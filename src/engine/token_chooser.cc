#include "engine/token_chooser.h"

#include <algorithm>

#include "base/status_macros.h"

namespace skald::engine {
namespace {

bool Contains(std::span<const TokenId> tokens, TokenId token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

const SamplingParams& ParamsFor(const Sequence& sequence) {
  const RequestState& state = *sequence.request;
  const auto output = static_cast<int64_t>(sequence.output().size());
  return output < state.request.stop.min_tokens ? *state.early_sampling : state.request.sampling;
}

}  // namespace

TokenChooser::TokenChooser(sampling::Sampler sampler, std::vector<TokenId> end_tokens,
                           int64_t context, SpeculationRule rule)
    : sampler_(std::move(sampler)),
      end_tokens_(std::move(end_tokens)),
      context_(context),
      rule_(rule) {}

RandomKey TokenChooser::KeyOf(const Sequence& sequence) {
  return {.seed = sequence.request->request.sampling.seed,
          .sequence = static_cast<uint32_t>(sequence.index),
          .position = static_cast<uint64_t>(sequence.length())};
}

Result<ChosenToken> TokenChooser::Choose(const Sequence& sequence, std::span<const float> logits) {
  return ChooseWith(sequence, logits, KeyOf(sequence));
}

Result<ChosenToken> TokenChooser::ChooseWith(const Sequence& sequence,
                                             std::span<const float> logits, const RandomKey& key) {
  sampling::SampleInput input = {
      .logits = logits, .prompt = sequence.prompt(), .output = sequence.output(), .key = key};
  const auto next = static_cast<size_t>(sequence.draft_accepted);
  sampling::Guess guess;
  if (rule_ == SpeculationRule::kRejection && next < sequence.draft.size()) {
    guess = {.token = sequence.draft[next], .chances = sequence.draft_chances.At(next)};
    input.guess = &guess;
  }
  ASSIGN_OR_RETURN(const sampling::Sampled sampled, sampler_.Sample(input, ParamsFor(sequence)));
  return ChosenToken{.token = sampled.token, .logprob = sampled.logprob, .top = sampled.top};
}

Result<TokenId> TokenChooser::Guess(const Sequence& sequence, std::span<const float> logits,
                                    DraftChances* chances) {
  const sampling::SampleInput input = {.logits = logits,
                                       .prompt = sequence.prompt(),
                                       .output = sequence.output(),
                                       .key = KeyOf(sequence),
                                       .chances = chances ? &chances->candidates : nullptr};
  ASSIGN_OR_RETURN(const sampling::Sampled sampled, sampler_.Sample(input, ParamsFor(sequence)));
  if (chances != nullptr) chances->ends.push_back(chances->candidates.size());
  return sampled.token;
}

Result<std::span<const TokenLogprob>> TokenChooser::Continuations(const Sequence& sequence,
                                                                  std::span<const float> logits,
                                                                  int64_t count) {
  const sampling::SampleInput input = {
      .logits = logits, .prompt = sequence.prompt(), .output = sequence.output(), .key = {}};
  return sampler_.Continuations(input, ParamsFor(sequence), count);
}

std::optional<FinishReason> TokenChooser::EndOf(const Sequence& sequence) const {
  const StopRules& stop = sequence.request->request.stop;
  const TokenId token = sequence.tokens.back();
  if (Contains(stop.stop_tokens, token)) return FinishReason::kStop;
  if (!stop.ignore_eos && Contains(end_tokens_, token)) return FinishReason::kStop;
  const auto output = static_cast<int64_t>(sequence.output().size());
  if (stop.max_tokens >= 0 && output >= stop.max_tokens) return FinishReason::kLength;
  // The last token may stand behind the context: it is known, but no row of it can be computed.
  if (sequence.length() > context_) return FinishReason::kContext;
  return std::nullopt;
}

}  // namespace skald::engine
