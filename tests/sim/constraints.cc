#include "sim/constraints.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "base/check.h"

namespace skald::sim {
namespace {

// Tokens that begin with others, two of the same letters, and two without any: the end, and one
// that no text has.
constexpr std::array<std::string_view, kVocab> kSpelling = {"",    "a",  "b", "c",  "ab", "",
                                                            "abc", "aa", "b", "cx", "xx", "x"};

// Choices everywhere, long runs without one, texts that end by themselves, at once, or never, and
// what only a stack can follow.
constexpr std::array<std::string_view, 9> kGrammars = {
    R"(root ::= ("a" | "bc")* "x")",
    R"(root ::= [abcx]*)",
    R"(root ::= "abcabcabc" ("a" | "b") "xxxxx" [ab]* "c")",
    R"(root ::= "abcx"{2,6} | "xx" [ab]+)",
    R"(root ::= "a" root "b" | "x")",
    R"(root ::= root "ab" | root "c" | "")",
    R"(root ::= "a" | "b" | "cxx" | "abcabc")",
    R"(root ::= [a]{0,20} "b"? [x]?)",
    R"(root ::= "a" | "b" | "x" | "aa" | "c" root)",
};

std::string TextOf(std::span<const TokenId> output) {
  std::string text;
  for (const TokenId token : output) text += kSpelling[static_cast<size_t>(token)];
  return text;
}

bool EndsText(const StopRules& stop, TokenId token) {
  return (!stop.ignore_eos && token == kEnd) ||
         std::find(stop.stop_tokens.begin(), stop.stop_tokens.end(), token) !=
             stop.stop_tokens.end();
}

// A text, and what a grammar says of it.
struct Checked {
  const Grammar& grammar;
  std::string text;
  GrammarCheck check = CheckText(grammar, text);

  // The whole text is read anew only for tokens whose first letter does not decide.
  bool MayFollow(TokenId token) const {
    const std::string_view spelling = kSpelling[static_cast<size_t>(token)];
    if (spelling.empty() || !check.next[static_cast<uint8_t>(spelling[0])]) return false;
    const std::string longer = text + std::string(spelling);
    return spelling.size() == 1 || CheckText(grammar, longer).good_bytes == longer.size();
  }
};

}  // namespace

Constraint ConstraintOver(std::string_view gbnf) {
  const auto grammar = Grammar::FromGbnf(gbnf);
  CHECK(grammar.ok());
  const auto constraint = Constraint::Create(*grammar, Vocabulary::FromBytes(kSpelling));
  CHECK(constraint.ok());
  return *constraint;
}

Constraint DrawConstraint(Seeded& draw) {
  const auto last = static_cast<int64_t>(kGrammars.size()) - 1;
  return ConstraintOver(kGrammars[static_cast<size_t>(draw.Between(0, last))]);
}

std::array<bool, kVocab> FollowingOf(const Request& request, std::span<const TokenId> output) {
  const Checked so_far{.grammar = request.constraint->grammar(), .text = TextOf(output)};
  const GrammarCheck& check = so_far.check;
  CHECK(check.good_bytes == so_far.text.size());
  std::array<bool, kVocab> following = {};
  const bool early = static_cast<int64_t>(output.size()) < request.stop.min_tokens;
  bool any = false;
  for (TokenId token = 0; token < kVocab; ++token) {
    const bool ends = EndsText(request.stop, token);
    const bool allowed = ends ? check.may_end && !early : so_far.MayFollow(token);
    following[static_cast<size_t>(token)] = allowed;
    any = any || allowed;
  }
  // Where all that goes on is a stop token, or banned, the constraint wins.
  for (TokenId token = 0; token < kVocab && !any; ++token) {
    following[static_cast<size_t>(token)] =
        so_far.MayFollow(token) || (check.may_end && EndsText(request.stop, token));
  }
  return following;
}

void Forbid(const Request& request, std::span<const TokenId> output, std::span<float> logits) {
  if (!request.constraint) return;
  const std::array<bool, kVocab> following = FollowingOf(request, output);
  for (size_t token = 0; token < logits.size(); ++token) {
    if (!following[token]) logits[token] = -std::numeric_limits<float>::infinity();
  }
}

bool MustEnd(const Request& request, std::span<const TokenId> output) {
  if (!request.constraint) return false;
  const GrammarCheck check = CheckText(request.constraint->grammar(), TextOf(output));
  return check.may_end && check.next.none();
}

}  // namespace skald::sim
