/// The parts of a report of `skald explain` that are there when somebody asks for them: the logit
/// lens, attention by layer, experts, cards of tensors, how likely the prompt was.
#pragma once

#include <string>

#include "skald/explain.h"

namespace skald::cli {

/// Of each step the token that the model would give behind each layer; of the first steps only,
/// where there are more than a terminal is wide.
std::string LensText(const Explanation& explanation);

/// Of each layer entropy and distance of its heads: the mean, and the heads at the ends.
std::string AttentionText(const Explanation& explanation);

/// Of each layer with experts how many were chosen, and which most often.
std::string ExpertsText(const Explanation& explanation);

/// How likely the prompt was, and which of its tokens were least so; nothing if nobody asked.
std::string PromptText(const Explanation& explanation);

/// What the blocks of a step gave: extents and histograms.
std::string CardsText(const ExplainedStep& step);

/// The same of the matrices of the model.
std::string WeightsText(const Explanation& explanation);

}  // namespace skald::cli
