#include "engine/state_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace skald::engine {
namespace {

const disk::PageKey kBefore = disk::FirstKey(disk::IdentityKey("test"), 1);

TEST(StatePieces, ThePageThenAsManyAsTheStateTakes) {
  EXPECT_EQ(StatePieceCount(1, 4096), 2);
  EXPECT_EQ(StatePieceCount(4096, 4096), 2);
  EXPECT_EQ(StatePieceCount(4097, 4096), 3);
}

TEST(StatePieces, OnlyTheFirstIsATail) {
  const std::vector<TokenId> tail = {7, 8, 9};
  const std::vector<ShelfPage> pieces = StatePieces(kBefore, tail, 67, 4);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].before, kBefore);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), pieces[0].tokens.begin()));
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(disk::IsTail(pieces[i].tokens), i == 0);
    EXPECT_EQ(pieces[i].key, disk::NextKey(pieces[i].before, pieces[i].tokens));
    EXPECT_EQ(pieces[i].begin, 67);
    EXPECT_EQ(pieces[i].before, i == 0 ? kBefore : pieces[i - 1].key);
  }
}

TEST(StatePieces, PlacesBesideEachOtherHaveOtherKeys) {
  const std::vector<TokenId> tail = {7, 8, 9};
  const auto key = [&](size_t count) {
    return StatePieces(kBefore, std::span(tail).first(count), 64, 1).front().key;
  };
  EXPECT_NE(key(0), key(1));
  EXPECT_NE(key(2), key(3));
  EXPECT_TRUE(disk::IsTail(StatePieces(kBefore, {}, 64, 1).front().tokens));
}

}  // namespace
}  // namespace skald::engine
