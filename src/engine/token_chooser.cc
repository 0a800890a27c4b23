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
  if (sequence.text) return state.request.sampling;  // min_tokens are in the mask
  const auto output = static_cast<int64_t>(sequence.output().size());
  return output < state.request.stop.min_tokens ? *state.early_sampling : state.request.sampling;
}

}  // namespace

TokenChooser::TokenChooser(sampling::Sampler sampler, std::vector<TokenId> end_tokens,
                           int64_t context, SpeculationRule rule, MaskRule masks)
    : sampler_(std::move(sampler)),
      end_tokens_(std::move(end_tokens)),
      context_(context),
      rule_(rule),
      masks_(masks),
      mask_(sampling::MaskWords(static_cast<size_t>(sampler_.vocab_size()))) {}

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
  sampling::SampleInput input = {.logits = logits,
                                 .prompt = sequence.prompt(),
                                 .output = sequence.output(),
                                 .key = key,
                                 .mu = sequence.mu};
  const auto next = static_cast<size_t>(sequence.draft_accepted);
  sampling::Guess guess;
  if (rule_ == SpeculationRule::kRejection && next < sequence.draft.size()) {
    guess = {.token = sequence.draft[next], .chances = sequence.draft_chances.At(next)};
    input.guess = &guess;
  }
  sampling::Odds odds;
  if (odds_) {
    input.odds = &odds;
    input.odds_rule = *odds_;
  }
  ASSIGN_OR_RETURN(const sampling::Sampled sampled, Sample(sequence, input));
  return ChosenToken{.token = sampled.token,
                     .mu = sampled.mu,
                     .logprob = sampled.logprob,
                     .top = sampled.top,
                     .draw = sampled.draw,
                     .odds = odds};
}

Result<TokenId> TokenChooser::Guess(const Sequence& sequence, std::span<const float> logits,
                                    DraftChances* chances) {
  const sampling::SampleInput input = {.logits = logits,
                                       .prompt = sequence.prompt(),
                                       .output = sequence.output(),
                                       .key = KeyOf(sequence),
                                       .mu = sequence.mu,
                                       .chances = chances ? &chances->candidates : nullptr};
  ASSIGN_OR_RETURN(const sampling::Sampled sampled, Sample(sequence, input));
  if (chances != nullptr) chances->ends.push_back(chances->candidates.size());
  return sampled.token;
}

Result<std::span<const TokenLogprob>> TokenChooser::Continuations(const Sequence& sequence,
                                                                  std::span<const float> logits,
                                                                  int64_t count) {
  sampling::SampleInput input = {
      .logits = logits, .prompt = sequence.prompt(), .output = sequence.output(), .key = {}};
  const SamplingParams& params = ParamsFor(sequence);
  if (!sequence.text) return sampler_.Continuations(input, params, count);
  if (masks_ == MaskRule::kWhereItTells) {
    ASSIGN_OR_RETURN(const auto likeliest, sampler_.Continuations(input, params, count));
    if (Allow(sequence, likeliest)) return likeliest;
  }
  ASSIGN_OR_RETURN(input.mask, MaskOf(sequence));
  return sampler_.Continuations(input, params, count);
}

bool TokenChooser::Allow(const Sequence& sequence, std::span<const TokenLogprob> tokens) const {
  const TextEnds ends = EndsOf(sequence);
  return std::all_of(tokens.begin(), tokens.end(), [&](const TokenLogprob& each) {
    return Allows(*sequence.text, ends, each.token);
  });
}

Result<sampling::Sampled> TokenChooser::Sample(const Sequence& sequence,
                                               sampling::SampleInput input) {
  const SamplingParams& params = ParamsFor(sequence);
  if (!sequence.text) return sampler_.Sample(input, params);
  if (masks_ == MaskRule::kWhereItTells && !sampling::NeedsMask(input, params)) {
    sampling::Sampled sampled;
    ASSIGN_OR_RETURN(const bool told, SampleUnmasked(sequence, input, &sampled));
    if (told) return sampled;
  }
  ASSIGN_OR_RETURN(input.mask, MaskOf(sequence));
  return sampler_.Sample(input, params);
}

Result<bool> TokenChooser::SampleUnmasked(const Sequence& sequence, sampling::SampleInput input,
                                          sampling::Sampled* sampled) {
  input.decisive = &decisive_;
  const size_t chances = input.chances != nullptr ? input.chances->size() : 0;
  ASSIGN_OR_RETURN(*sampled, sampler_.Sample(input, ParamsFor(sequence)));
  const TextEnds ends = EndsOf(sequence);
  const bool told = std::all_of(decisive_.begin(), decisive_.end(),
                                [&](TokenId token) { return Allows(*sequence.text, ends, token); });
  if (!told && input.chances != nullptr) input.chances->resize(chances);
  return told;
}

Result<sampling::TokenMask> TokenChooser::MaskOf(const Sequence& sequence) {
  RETURN_IF_ERROR(FillMask(*sequence.text, EndsOf(sequence), mask_, &mask_budget_));
  ++mask_count_;
  return sampling::TokenMask(mask_);
}

TextEnds TokenChooser::EndsOf(const Sequence& sequence, size_t ahead) const {
  const StopRules& stop = sequence.request->request.stop;
  const auto output = static_cast<int64_t>(sequence.output().size() + ahead);
  return {.of_model = stop.ignore_eos ? std::span<const TokenId>() : end_tokens_,
          .of_request = stop.stop_tokens,
          .banned = output < stop.min_tokens};
}

Status TokenChooser::Follow(Sequence* sequence) const {
  const std::optional<Constraint>& constraint = sequence->request->request.constraint;
  if (!constraint) return Ok();
  if (!sequence->text) sequence->text.emplace(*constraint);
  std::span<const TokenId> output = sequence->output();
  if (!output.empty() && EndsOf(*sequence).Contain(output.back())) {
    output = output.first(output.size() - 1);
  }
  return sequence->text->Follow(output);
}

size_t TokenChooser::CountAllowed(const Sequence& sequence, std::span<const TokenId> draft) const {
  if (!sequence.text) return draft.size();
  grammar::ConstraintState state = sequence.text->state();
  for (size_t i = 0; i < draft.size(); ++i) {
    const TextEnds ends = EndsOf(sequence, i);
    if (ends.Contain(draft[i])) return state.may_end() && !ends.banned ? i + 1 : i;
    if (!state.Advance(draft[i]).ok()) return i;
    if (state.must_end()) return i + 1;
  }
  return draft.size();
}

std::optional<FinishReason> TokenChooser::EndOf(const Sequence& sequence) const {
  const StopRules& stop = sequence.request->request.stop;
  const TokenId token = sequence.tokens.back();
  if (Contains(stop.stop_tokens, token)) return FinishReason::kStop;
  if (!stop.ignore_eos && Contains(end_tokens_, token)) return FinishReason::kStop;
  if (sequence.text && sequence.text->state().must_end()) return FinishReason::kStop;
  const auto output = static_cast<int64_t>(sequence.output().size());
  if (stop.max_tokens >= 0 && output >= stop.max_tokens) return FinishReason::kLength;
  // The last token may stand behind the context: it is known, but no row of it can be computed.
  if (sequence.length() > context_) return FinishReason::kContext;
  return std::nullopt;
}

}  // namespace skald::engine
