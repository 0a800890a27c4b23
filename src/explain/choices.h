/// Choices: how probable tokens were, before and behind each filter, when one was drawn.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sampling/sampler.h"
#include "skald/explain.h"
#include "skald/sampling_params.h"

namespace skald::explain {

/// What a token was drawn from.
struct ChoiceInput {
  std::span<const float> logits;  ///< as the model gave them
  std::span<const TokenId> prompt;
  std::span<const TokenId> output;  ///< before it
  TokenId drawn = kNoToken;
};

/// Watches the choices of one answer, in their order. The sampler is the engine's: each filter is
/// shown by asking it to choose with the filters up to there, and the last is the choice itself.
class Choices {
 public:
  Choices(sampling::Sampler sampler, SamplingParams params);

  /// Errors: as Sampler::Sample.
  Result<ExplainedChoice> Explain(const ChoiceInput& input);

 private:
  struct Stage {
    std::string name;
    SamplingParams params;
  };
  using Chances = std::vector<sampling::Candidate>;

  static std::vector<Stage> StagesOf(const SamplingParams& params);
  Result<sampling::Sampled> Sample(const ChoiceInput& input, const SamplingParams& params,
                                   Chances* chances);
  // The probabilities of some tokens behind one filter more.
  static void AddStage(const Stage& stage, const Chances& chances, ExplainedChoice* choice);

  sampling::Sampler sampler_;
  SamplingParams params_;
  std::vector<Stage> stages_;
  double mu_;  // Mirostat's
};

}  // namespace skald::explain
