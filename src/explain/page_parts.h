/// The sections of the page of `skald explain`, each with a title that says the finding, a figure,
/// and the figure's data as a table.
#pragma once

#include <string>

#include "skald/explain.h"

namespace skald::explain {

/// The text as the model sees it, a cell a token.
std::string TokenSection(const Explanation& explanation);

/// Of each drawn token the probabilities behind each filter. Empty of a model that draws none.
std::string ChoiceSection(const Explanation& explanation);

/// The calls of the first step and of the first that decodes, side by side, and times of all steps.
std::string TreeSection(const Explanation& explanation);

/// Of each drawn token what the model would have given behind each layer. Empty where nobody asked
/// for it, as the sections below.
std::string LensSection(const Explanation& explanation);

/// How heads share their attention: numbers of each, and maps over the text.
std::string AttentionSection(const Explanation& explanation);

/// The experts that tokens went to.
std::string ExpertSection(const Explanation& explanation);

/// What the values of activations and weights look like.
std::string ValueSection(const Explanation& explanation);

/// The pages of K and V: which positions came from the cache, and which were computed.
std::string PageSection(const Explanation& explanation);

}  // namespace skald::explain
