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

/// Which tokens a matcher looks for.
enum class SpecialSet : uint8_t {
  kUserDefined,            ///< those that text always becomes
  kUserDefinedAndControl,  ///< and those it becomes only on request
};

/// Finds special tokens from left to right, at each place the longest, without overlap (as Hugging
/// Face's added tokens; llama.cpp instead takes the longest token of the whole vocabulary first,
/// which differs only where special tokens overlap one another). Immutable.
class SpecialMatcher {
 public:
  SpecialMatcher(const Vocab& vocab, SpecialSet set);

  /// All matches in `text`, ascending: Leftmost of Candidates.
  std::vector<SpecialMatch> Find(std::string_view text) const;

  /// The longest token at each place of `text` where one begins; ascending, may overlap. Linear in
  /// the text: an automaton over the reversed tokens reads it from the end and so learns the
  /// longest token that begins at each place.
  std::vector<SpecialMatch> Candidates(std::string_view text) const;

 private:
  std::vector<TokenId> ids_;  // of the automaton's patterns
  ByteAutomaton automaton_;
};

/// Of matches in ascending order, those that begin where no other runs, from the left.
std::vector<SpecialMatch> Leftmost(std::vector<SpecialMatch> matches);

/// All matches in a text of which only `control_ranges` may hold control tokens: candidates of
/// `all` that lie inside a range as a whole, and of `user_defined` anywhere; at each place the
/// longest, from left to right, without overlap. The ranges are ascending, disjoint and inside the
/// text.
std::vector<SpecialMatch> FindMixed(const SpecialMatcher& user_defined, const SpecialMatcher& all,
                                    std::string_view text,
                                    std::span<const TextRange> control_ranges);

}  // namespace skald::text
