/// What a request must answer: computed alone, from its tokens, without pages, tree or schedule.
#pragma once

#include <vector>

#include "engine/token_chooser.h"
#include "sim/workload.h"

namespace skald::sim {

/// One sequence run alone.
struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> embedding = {};
  FinishReason reason = FinishReason::kStop;
  double score = 0;  ///< of a beam search
};

/// The log probabilities of a request's prompt.
PromptLogprobs ScoreAlone(const Request& request, sampling::Sampler* sampler);

/// The sequence number `index` of a client's request. `sampler` is for kVocab tokens.
Answer RunAlone(const Client& client, int32_t index, int64_t context, sampling::Sampler* sampler);

}  // namespace skald::sim
