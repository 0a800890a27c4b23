/// Constraints of a simulation: a vocabulary whose tokens spell few letters, texts to be kept to,
/// and what they allow, told from the letters alone: no masks, no states, no trie.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "sim/fake_network.h"
#include "sim/seeded.h"
#include "skald/request.h"

namespace skald::sim {

/// One over the vocabulary of FakeNetwork: of a grammar as llama.cpp writes it, or drawn.
Constraint ConstraintOver(std::string_view gbnf);
Constraint DrawConstraint(Seeded& draw);

/// The tokens that may follow an output of a request with a constraint.
std::array<bool, kVocab> FollowingOf(const Request& request, std::span<const TokenId> output);

/// Writes -infinity for what may not follow; nothing without a constraint.
void Forbid(const Request& request, std::span<const TokenId> output, std::span<float> logits);

/// Whether a text must end here.
bool MustEnd(const Request& request, std::span<const TokenId> output);

}  // namespace skald::sim
