#include "text/special_matcher.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace skald::text {

SpecialMatcher::SpecialMatcher(const Vocab& vocab) {
  std::string reversed;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const bool special = vocab.Type(id) == TokenType::kUserDefined || vocab.Hidden(id);
    if (!special || vocab.Bytes(id).empty()) continue;
    ids_.push_back(id);
    const std::string_view bytes = vocab.Bytes(id);
    reversed.append(bytes.rbegin(), bytes.rend());
  }
  std::vector<std::string_view> patterns;
  patterns.reserve(ids_.size());
  size_t at = 0;
  for (const TokenId id : ids_) {
    patterns.push_back(std::string_view(reversed).substr(at, vocab.Bytes(id).size()));
    at += vocab.Bytes(id).size();
  }
  automaton_ = ByteAutomaton(patterns);
  // From the shortest on, so that what a pattern falls back to is known.
  std::vector<int32_t> by_length(ids_.size());
  std::iota(by_length.begin(), by_length.end(), 0);
  std::sort(by_length.begin(), by_length.end(), [this](int32_t a, int32_t b) {
    return automaton_.PatternLength(a) < automaton_.PatternLength(b);
  });
  user_defined_.assign(ids_.size(), ByteAutomaton::kNoPattern);
  for (const int32_t pattern : by_length) {
    const auto place = static_cast<size_t>(pattern);
    const int32_t shorter = automaton_.NextShorter(pattern);
    if (vocab.Type(ids_[place]) == TokenType::kUserDefined) {
      user_defined_[place] = pattern;
    } else if (shorter != ByteAutomaton::kNoPattern) {
      user_defined_[place] = user_defined_[static_cast<size_t>(shorter)];
    }
  }
}

std::vector<SpecialMatch> SpecialMatcher::Candidates(std::string_view text, SpecialSet set) const {
  std::vector<SpecialMatch> matches;
  if (ids_.empty()) return matches;
  ByteAutomaton::State state = ByteAutomaton::kRoot;
  for (size_t at = text.size(); at-- > 0;) {
    state = automaton_.Step(state, static_cast<uint8_t>(text[at]));
    int32_t match = automaton_.Match(state);
    if (match != ByteAutomaton::kNoPattern && set == SpecialSet::kUserDefined)
      match = user_defined_[static_cast<size_t>(match)];
    if (match == ByteAutomaton::kNoPattern) continue;
    matches.push_back({at, static_cast<size_t>(automaton_.PatternLength(match)),
                       ids_[static_cast<size_t>(match)]});
  }
  std::reverse(matches.begin(), matches.end());
  return matches;
}

std::vector<SpecialMatch> SpecialMatcher::Find(std::string_view text, SpecialSet set) const {
  return Leftmost(Candidates(text, set));
}

std::vector<SpecialMatch> Leftmost(std::vector<SpecialMatch> matches) {
  size_t free_from = 0;
  std::erase_if(matches, [&free_from](const SpecialMatch& match) {
    if (match.begin < free_from) return true;
    free_from = match.begin + match.length;
    return false;
  });
  return matches;
}

std::vector<SpecialMatch> FindMixed(const SpecialMatcher& matcher, std::string_view text,
                                    std::span<const TextRange> control_ranges) {
  std::vector<SpecialMatch> matches = matcher.Candidates(text, SpecialSet::kUserDefined);
  for (const TextRange range : control_ranges) {
    // Each range is searched as a text of its own: what begins inside and ends outside is not seen,
    // and cannot hide a shorter token that lies inside.
    const std::string_view inside = text.substr(range.begin, range.end - range.begin);
    for (SpecialMatch match : matcher.Candidates(inside, SpecialSet::kUserDefinedAndControl)) {
      match.begin += range.begin;
      matches.push_back(match);
    }
  }
  std::sort(matches.begin(), matches.end(), [](const SpecialMatch& a, const SpecialMatch& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.length > b.length;
  });
  return Leftmost(std::move(matches));
}

}  // namespace skald::text
