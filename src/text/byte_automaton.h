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
  /// counts. Memory linear in their total length (17 bytes per byte, and 12 per pattern); time
  /// linear but for sorting them.
  explicit ByteAutomaton(std::span<const std::string_view> patterns);

  /// The state after reading `byte` in `state`. Amortized constant: a search in at most 256 bytes
  /// per byte of text, and one per level of the prefix left.
  State Step(State state, uint8_t byte) const;

  /// Length of the prefix that `state` stands for.
  int32_t Depth(State state) const { return nodes_[static_cast<size_t>(state)].depth; }
  /// Index of the longest pattern that ends in `state`, or kNoPattern.
  int32_t Match(State state) const { return nodes_[static_cast<size_t>(state)].match; }
  /// Bytes of the pattern with this index.
  int32_t PatternLength(int32_t pattern) const { return lengths_[static_cast<size_t>(pattern)]; }
  /// Index of the longest other pattern that `pattern` ends in, or kNoPattern.
  int32_t NextShorter(int32_t pattern) const { return shorter_[static_cast<size_t>(pattern)]; }

 private:
  // Nodes stand in breadth-first order, the children of one side by side: they end where those of
  // the next node begin, so a node needs neither their count nor links between them.
  struct Node {
    State children = 0;  // the first of them
    State fail = kRoot;  // the longest proper suffix that is also a prefix of a pattern
    int32_t depth = 0;
    int32_t match = kNoPattern;
  };

  State Child(State state, uint8_t byte) const;
  void BuildTrie(std::span<const std::string_view> patterns);
  void LinkSuffixes();

  std::vector<Node> nodes_;                 // and one behind the last, for its `children`
  std::vector<uint8_t> bytes_;              // the last byte of each node's prefix
  std::vector<int32_t> lengths_;            // of the patterns
  std::vector<int32_t> shorter_;            // by pattern: NextShorter
  std::array<State, 256> root_children_{};  // most bytes of a text are read in the root
};

}  // namespace skald::text
