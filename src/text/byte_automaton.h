/// ByteAutomaton: an Aho-Corasick automaton over a set of byte strings.
///
/// Finds, after each byte of a text, the longest pattern that ends there, in time linear in the
/// text and independent of the number of patterns. Used for stop strings and, on reversed text,
/// for special tokens.
/// Source: Aho and Corasick, "Efficient string matching", CACM 18 (1975).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace skald::text {

class ByteAutomaton {
 public:
  /// A state is a prefix of some pattern: the longest that is a suffix of the bytes read so far.
  using State = int32_t;
  static constexpr State kRoot = 0;  ///< the empty prefix: where every text begins
  static constexpr int32_t kNoPattern = -1;

  /// An automaton without patterns: stays in kRoot.
  ByteAutomaton();
  /// For `patterns`, none empty, together less than 2^31 - 1 bytes. Of equal patterns the first
  /// counts. Time and memory linear in their total length (24 bytes per byte).
  explicit ByteAutomaton(std::span<const std::string_view> patterns);

  /// The state after reading `byte` in `state`. Amortized constant (at most 256 steps per byte of
  /// text and one per level of the prefix left).
  State Step(State state, uint8_t byte) const;

  /// Length of the prefix that `state` stands for.
  int32_t Depth(State state) const { return nodes_[static_cast<size_t>(state)].depth; }
  /// Index of the longest pattern that ends in `state`, or kNoPattern.
  int32_t Match(State state) const { return nodes_[static_cast<size_t>(state)].match; }
  /// Bytes of the pattern with this index.
  int32_t PatternLength(int32_t pattern) const { return lengths_[static_cast<size_t>(pattern)]; }

 private:
  struct Node {
    State first_child = kRoot;   // kRoot: none (the root is nobody's child)
    State next_sibling = kRoot;  // kRoot: none
    State fail = kRoot;          // the longest proper suffix that is also a prefix of a pattern
    int32_t depth = 0;
    int32_t match = kNoPattern;
    uint8_t byte = 0;  // the last byte of the prefix
  };

  State Child(State state, uint8_t byte) const;
  void Insert(std::string_view pattern, int32_t index);
  void LinkSuffixes();

  std::vector<Node> nodes_;
  std::vector<int32_t> lengths_;            // of the patterns
  std::array<State, 256> root_children_{};  // most bytes of a text are read in the root
};

}  // namespace skald::text
