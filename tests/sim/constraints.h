/// Constraints of a simulation: a vocabulary whose tokens spell few letters, texts to be kept to,
/// and what they allow, told by the recogniser letter by letter: no masks, no states, no trie.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
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

/// Whether a token is one that only a grammar names: it has no letters, and ends nothing.
bool IsControl(TokenId token);

/// A guess of at most `most` tokens.
struct ForcedGuess {
  std::span<const TokenId> tokens;
  int64_t most;
};

/// Empty, or what is wrong with a guess of the text that is the only way on behind an output: it
/// must be that text, and as much of it as `most` tokens can spell, or go on for.
std::string CheckForced(const Request& request, std::span<const TokenId> output,
                        const ForcedGuess& guess);

/// Whether a text must end here.
bool MustEnd(const Request& request, std::span<const TokenId> output);

}  // namespace skald::sim
