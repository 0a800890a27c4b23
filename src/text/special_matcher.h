/// SpecialMatcher: finds the tokens that are matched whole, before any other tokenization.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "text/byte_automaton.h"
#include "text/vocab.h"

namespace skald::text {

/// A special token found in a text.
struct SpecialMatch {
  size_t begin;  ///< offset of its first byte
  size_t length;
  TokenId id;
};

/// Which tokens to look for.
enum class SpecialSet : uint8_t {
  kUserDefined,            ///< those that text always becomes
  kUserDefinedAndControl,  ///< and those it becomes only on request
};

/// Finds special tokens from left to right, at each place the longest, without overlap (as Hugging
/// Face's added tokens; llama.cpp instead takes the longest token of the whole vocabulary first,
/// which differs only where special tokens overlap one another). Immutable.
class SpecialMatcher {
 public:
  /// Memory: 17 bytes for each byte of the special tokens, which kMaxSpecialBytes bounds (vocab.h).
  explicit SpecialMatcher(const Vocab& vocab);

  /// All matches of `set` in `text`, ascending: Leftmost of Candidates.
  std::vector<SpecialMatch> Find(std::string_view text, SpecialSet set) const;

  /// The longest token of `set` at each place of `text` where one begins; ascending, may overlap.
  /// Linear in the text: an automaton over the reversed tokens reads it from the end and so learns
  /// the longest token that begins at each place.
  std::vector<SpecialMatch> Candidates(std::string_view text, SpecialSet set) const;

 private:
  std::vector<TokenId> ids_;  // of the automaton's patterns
  // By pattern: the longest user-defined one that begins as it does, itself included; kNoPattern if
  // there is none. So one automaton finds both sets.
  std::vector<int32_t> user_defined_;
  ByteAutomaton automaton_;
};

/// Of matches in ascending order, those that begin where no other runs, from the left.
std::vector<SpecialMatch> Leftmost(std::vector<SpecialMatch> matches);

/// All matches in a text of which only `control_ranges` may hold control tokens: user-defined ones
/// anywhere, and all that lie inside a range as a whole; at each place the longest, from left to
/// right, without overlap. The ranges are ascending, disjoint and inside the text.
std::vector<SpecialMatch> FindMixed(const SpecialMatcher& matcher, std::string_view text,
                                    std::span<const TextRange> control_ranges);

}  // namespace skald::text
