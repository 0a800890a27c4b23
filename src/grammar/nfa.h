/// Nfa: a finite automaton under construction, over bytes, control tokens and
/// rules.
///
/// Characters are spelled in UTF-8 when they are added, so that everything behind knows bytes only
/// and no text that is not well-formed can be produced. In the content of a JSON string a character
/// has one spelling: itself, or the shortest escape where it must be escaped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/char_set.h"

namespace skald::grammar {

enum class NfaEdgeKind : uint8_t {
  kEmpty,
  kBytes,  ///< one byte, `low` to `high`
  kToken,  ///< the control token `rule`
  kRule,   ///< what the rule `rule` takes
  kBegin,  ///< nothing, where the text begins
  kEnd,    ///< nothing, where the text ends
};

struct NfaEdge {
  NfaEdgeKind kind;
  uint8_t low = 0;
  uint8_t high = 0;
  uint32_t target = 0;
  uint32_t rule = 0;
};

/// How characters are spelled.
enum class Spelling : uint8_t {
  kUtf8,
  kJsonString,  ///< as the content of a JSON string, between the quotes
};

class Nfa {
 public:
  uint32_t AddState();
  void AddEdge(uint32_t from, const NfaEdge& edge) { edges_[from].push_back(edge); }
  void AddEmpty(uint32_t from, uint32_t to) { AddEdge(from, {NfaEdgeKind::kEmpty, 0, 0, to}); }

  /// One character of `set`. Adds states that are shared by the ranges of the set.
  void AddCharacters(uint32_t from, uint32_t to, const CharSet& set, Spelling spelling);
  /// These bytes. Adds a state for each but the last; `bytes` is not empty.
  void AddText(uint32_t from, uint32_t to, std::string_view bytes);

  size_t size() const { return edges_.size(); }
  const std::vector<NfaEdge>& edges(uint32_t state) const { return edges_[state]; }
  std::vector<NfaEdge>& edges(uint32_t state) { return edges_[state]; }

  uint32_t start = 0;
  /// The states where the text may end, by state. Set by Finish of thompson.h.
  std::vector<uint8_t> accepting = {};

 private:
  std::vector<std::vector<NfaEdge>> edges_;
};

}  // namespace skald::grammar
