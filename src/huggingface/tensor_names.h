/// Names of stored tensors: which rules they follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "huggingface/architecture.h"

namespace skald::huggingface {

/// A name with its numbers taken out: "layers.#.mlp.gate.weight" and {12}.
struct NamePattern {
  std::string pattern;
  std::vector<int64_t> numbers;  ///< each below 2^31
};

/// Takes the numbers out of `name`, and what stands before the network: "model.", of models with
/// pictures "model.language_model." or "language_model.model.", of BERT's "bert." or "roberta.".
NamePattern PatternOf(std::string_view name);

/// The rules that `pattern` follows: those of the architecture, else the common one. None: it has
/// no place.
std::vector<NameRule> RulesFor(const Architecture& architecture, std::string_view pattern);

/// The same for the head of a model that ranks.
std::vector<NameRule> RankRulesFor(const Architecture& architecture, std::string_view pattern);

/// Whether a tensor may be left out: of other senses than text, a guess of further tokens, or
/// computed anew by everybody.
bool MayBeLeftOut(std::string_view name);

}  // namespace skald::huggingface
