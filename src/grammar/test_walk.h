/// For tests: random texts, token by token through the masks of a constraint.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/constraint_state.h"
#include "grammar/token_table.h"
#include "skald/grammar.h"

namespace skald::grammar {

/// The tokens that may follow, ascending.
inline std::vector<TokenId> MaskOf(const ConstraintState& state, int64_t vocabulary) {
  std::vector<uint64_t> words(static_cast<size_t>(vocabulary + 63) / 64, ~uint64_t{0});
  EXPECT_TRUE(state.FillMask(words).ok());
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < words.size() * 64; ++i)
    if ((words[i >> 6] >> (i & 63)) & 1) tokens.push_back(static_cast<TokenId>(i));
  return tokens;
}

struct Walk {
  uint64_t seed = 0;
  int tokens = 50;
};

/// What the recogniser says of each token alone, behind the whole text from its beginning.
inline std::vector<TokenId> EachAlone(const Constraint& constraint, std::string_view text,
                                      const ConstraintState& state) {
  const Form& form = constraint.grammar().form();
  const TokenTable& table = constraint.vocabulary().table();
  const RowPointer row = ReadBytes(form, FirstRow(form), text).row;
  std::vector<TokenId> tokens;
  for (TokenId id = 0; id < table.token_count(); ++id) {
    const std::string_view bytes = table.BytesOf(id);
    const bool fits = !bytes.empty() && ReadBytes(form, row, bytes).taken == bytes.size();
    if (fits) tokens.push_back(id);
    EXPECT_EQ(state.Allows(id), fits) << text << " + " << bytes;
  }
  return tokens;
}

struct WalkedText {
  std::string text;
  bool may_end = false;
};

/// Walks at random by masks alone.
inline WalkedText WalkText(const Constraint& constraint, const Walk& walk) {
  const TokenTable& table = constraint.vocabulary().table();
  std::mt19937_64 random(walk.seed);
  ConstraintState state(constraint);
  WalkedText made;
  for (int step = 0; step < walk.tokens && !state.must_end(); ++step) {
    const std::vector<TokenId> mask = MaskOf(state, table.token_count());
    EXPECT_FALSE(mask.empty()) << made.text;
    if (mask.empty()) break;
    const TokenId next = mask[random() % mask.size()];
    made.text += table.BytesOf(next);
    EXPECT_TRUE(state.Advance(next).ok()) << made.text;
  }
  made.may_end = state.may_end();
  return made;
}

/// Walks at random, and compares each mask with what is said of each token alone. Returns the text.
inline std::string CheckWalk(const Constraint& constraint, const Walk& walk) {
  const TokenTable& tokens = constraint.vocabulary().table();
  std::mt19937_64 random(walk.seed);
  ConstraintState state(constraint);
  std::string text;
  for (int step = 0; step < walk.tokens && !state.must_end(); ++step) {
    const std::vector<TokenId> mask = MaskOf(state, tokens.token_count());
    const std::vector<TokenId> expected = EachAlone(constraint, text, state);
    EXPECT_EQ(mask, expected) << text;
    if (mask != expected || mask.empty()) {
      EXPECT_FALSE(mask.empty()) << text;
      return text;
    }
    const TokenId next = mask[random() % mask.size()];
    text += tokens.BytesOf(next);
    EXPECT_TRUE(state.Advance(next).ok());
    EXPECT_EQ(state.may_end(), CheckText(constraint.grammar(), text).may_end) << text;
  }
  return text;
}

}  // namespace skald::grammar
