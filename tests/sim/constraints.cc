#include "sim/constraints.h"

#include <algorithm>
#include <bitset>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grammar/recognizer.h"

namespace skald::sim {
namespace {

// Tokens that begin with others, two of the same letters, and two without any: the end, and one
// that no text has.
constexpr std::array<std::string_view, kVocab> kSpelling = {"",    "a",  "b", "c",  "ab", "",
                                                            "abc", "aa", "b", "cx", "xx", "x"};

// Choices everywhere, long runs without one, texts that end by themselves, at once, or never, and
// what only a stack can follow.
constexpr std::array<std::string_view, 13> kGrammars = {
    R"(root ::= ("a" | "bc")* "x")",
    R"(root ::= [abcx]*)",
    R"(root ::= "abcabcabc" ("a" | "b") "xxxxx" [ab]* "c")",
    R"(root ::= "abcx"{2,6} | "xx" [ab]+)",
    R"(root ::= "a" root "b" | "x")",
    R"(root ::= root "ab" | root "c" | "")",
    R"(root ::= "a" | "b" | "cxx" | "abcabc")",
    R"(root ::= [a]{0,20} "b"? [x]?)",
    R"(root ::= "a" | "b" | "x" | "aa" | "c" root)",
    // Control tokens: between forced texts, one behind the other, beside letters, at the end.
    R"(root ::= ("ab" <[5]> "xcab")* "c")",
    R"(root ::= "a"? <[5]> <[5]> "xx" ([ab] <[5]>)+ "c" <[5]>)",
    R"(root ::= <[5]> root "b" | "x" | "aab" <[5]>)",
    R"(root ::= (<[5]> | "abc" | "b")* "x")",
};

// The row behind `token`; null behind null, and where it may not follow.
grammar::RowPointer RowBehind(const grammar::Form& form, const grammar::RowPointer& row,
                              TokenId token) {
  if (row == nullptr) return nullptr;
  const std::string_view spelling = kSpelling[static_cast<size_t>(token)];
  if (spelling.empty()) return RowBehindToken(form, *row, token);
  grammar::Reading reading = ReadBytes(form, row, spelling);
  return reading.taken == spelling.size() ? std::move(reading.row) : nullptr;
}

// The row behind an output, which the grammar takes.
grammar::RowPointer RowOf(const Request& request, std::span<const TokenId> output) {
  const grammar::Form& form = request.constraint->grammar().form();
  grammar::RowPointer row = grammar::FirstRow(form);
  for (const TokenId token : output) row = RowBehind(form, row, token);
  CHECK(row != nullptr);
  return row;
}

bool EndsText(const StopRules& stop, TokenId token) {
  return (!stop.ignore_eos && token == kEnd) ||
         std::find(stop.stop_tokens.begin(), stop.stop_tokens.end(), token) !=
             stop.stop_tokens.end();
}

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

bool IsControl(TokenId token) {
  return token != kEnd && kSpelling[static_cast<size_t>(token)].empty();
}

std::array<bool, kVocab> FollowingOf(const Request& request, std::span<const TokenId> output) {
  const grammar::Form& form = request.constraint->grammar().form();
  const grammar::RowPointer row = RowOf(request, output);
  const auto may_follow = [&](TokenId token) { return RowBehind(form, row, token) != nullptr; };
  std::array<bool, kVocab> following = {};
  const bool early = static_cast<int64_t>(output.size()) < request.stop.min_tokens;
  bool any = false;
  for (TokenId token = 0; token < kVocab; ++token) {
    const bool ends = EndsText(request.stop, token);
    const bool allowed = ends ? row->accepting && !early : may_follow(token);
    following[static_cast<size_t>(token)] = allowed;
    any = any || allowed;
  }
  // Where all that goes on is a stop token, or banned, the constraint wins.
  for (TokenId token = 0; token < kVocab && !any; ++token) {
    following[static_cast<size_t>(token)] =
        may_follow(token) || (row->accepting && EndsText(request.stop, token));
  }
  return following;
}

namespace {

// What may follow a row: so many bytes and control tokens, and whether the text may end.
struct Ways {
  std::bitset<256> bytes;
  std::set<TokenId> tokens;
  bool may_end;

  bool IsForced() const { return !may_end && bytes.count() + tokens.size() == 1; }
};

Ways WaysOn(const grammar::Form& form, const grammar::Row& row) {
  const std::vector<TokenId> tokens = NextTokens(form, row);
  return {.bytes = NextBytes(form, row),
          .tokens = {tokens.begin(), tokens.end()},
          .may_end = row.accepting};
}

}  // namespace

std::string CheckForced(const Request& request, std::span<const TokenId> output,
                        const ForcedGuess& guess) {
  if (!request.constraint) return guess.tokens.empty() ? "" : "text is forced without a constraint";
  const grammar::Form& form = request.constraint->grammar().form();
  grammar::RowPointer row = RowOf(request, output);
  for (const TokenId token : guess.tokens) {
    const std::string_view spelling = kSpelling[static_cast<size_t>(token)];
    if (spelling.empty() && !WaysOn(form, *row).IsForced()) return "a control token is not forced";
    if (spelling.empty()) row = RowBehindToken(form, *row, token);
    for (const char letter : spelling) {
      if (row == nullptr || !WaysOn(form, *row).IsForced()) return "a guess is not forced";
      row = NextRow(form, *row, static_cast<uint8_t>(letter));
    }
    if (row == nullptr) return "a guess is other text than the forced one";
  }
  if (static_cast<int64_t>(guess.tokens.size()) == guess.most) return {};
  return WaysOn(form, *row).IsForced() ? "forced text is not guessed" : "";
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
  const grammar::RowPointer row = RowOf(request, output);
  const grammar::Form& form = request.constraint->grammar().form();
  return row->accepting && NextBytes(form, *row).none() && NextTokens(form, *row).empty();
}

}  // namespace skald::sim
