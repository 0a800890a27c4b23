#include "engine/shelf_records.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace skald::engine {
namespace {

const disk::PageKey kBefore = disk::FirstKey(disk::IdentityKey("test"), 1);

// A network of so many bytes.
class Sized : public Network {
 public:
  Sized(int64_t full, int64_t window, int64_t state)
      : full_(full), window_(window), state_(state) {}
  int64_t PageBytes(kv::PageGroup group) const override {
    return group == kv::PageGroup::kFull ? full_ : window_;
  }
  int64_t StateBytes() const override { return state_; }
  void CopyPage(const kv::PageCopy&) override {}
  void SavePage(const kv::PageParts&, std::span<std::byte>) override {}
  void LoadPage(const kv::PageParts&, std::span<const std::byte>) override {}
  void SaveState(kv::StateId, int64_t, std::span<std::byte>) override {}
  void LoadState(kv::StateId, int64_t, std::span<const std::byte>) override {}
  void CopyState(const kv::StateCopy&) override {}
  void Forward(const model::StepBatch&) override {}
  std::span<const float> Logits(int64_t) const override { return {}; }
  std::span<const float> Hidden(int64_t) const override { return {}; }
  void TurnToLogits(int64_t, int64_t) override {}
  float Score(std::span<const float>) override { return 0; }

 private:
  const int64_t full_;
  const int64_t window_;
  const int64_t state_;
};

TEST(ShelfRecords, AStateHasThePageOfItsPlaceAndThenItself) {
  EXPECT_EQ(RecordSizesOf(Sized(4096, 0, 0), {}).state, 0);
  EXPECT_EQ(RecordSizesOf(Sized(4096, 0, 1), {}).state, 2);
  EXPECT_EQ(RecordSizesOf(Sized(4096, 0, 4096), {}).state, 2);
  EXPECT_EQ(RecordSizesOf(Sized(4096, 0, 4097), {}).state, 3);
}

// As long as a page of the layers that see everything: most pages have lost the rest.
TEST(ShelfRecords, AWindowPageHasRecordsOfItsOwn) {
  const RecordSizes own = RecordSizesOf(Sized(100, 501, 0), {.pages = 9, .positions = 64});
  EXPECT_EQ(own.record_bytes, 100);
  EXPECT_EQ(own.page, 1);
  EXPECT_EQ(own.window, 6);
  const RecordSizes together = RecordSizesOf(Sized(100, 501, 0), {});
  EXPECT_EQ(together.record_bytes, 601);
  EXPECT_EQ(together.window, 0);
}

TEST(ShelfRecords, WhatHasNoBytesHasNoRecord) {
  const RecordSizes windows = RecordSizesOf(Sized(0, 50, 0), {.pages = 9, .positions = 64});
  EXPECT_EQ(windows.record_bytes, 50);
  EXPECT_EQ(windows.page, 0);
  EXPECT_EQ(windows.window, 1);
  const RecordSizes states = RecordSizesOf(Sized(0, 0, (int64_t{3} << 20) + 1), {});
  EXPECT_EQ(states.record_bytes, int64_t{1} << 20);
  EXPECT_EQ(states.page, 0);
  EXPECT_EQ(states.state, 4);
  EXPECT_EQ(RecordSizesOf(Sized(0, 0, 0), {}).record_bytes, 0);
}

TEST(ShelfRecords, AWindowPageIsNamedByItsPage) {
  const std::vector<ShelfPage> records = WindowRecords(kBefore, 64, 3);
  ASSERT_EQ(records.size(), 3u);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_FALSE(disk::IsTail(records[i].tokens));
    EXPECT_EQ(records[i].key, disk::NextKey(records[i].before, records[i].tokens));
    EXPECT_EQ(records[i].begin, 64);
    EXPECT_EQ(records[i].before, i == 0 ? kBefore : records[i - 1].key);
  }
  // Not the page behind it, whatever its tokens, nor a state there.
  EXPECT_LT(records[0].tokens.front(), 0);
  EXPECT_NE(records[0].key, StateRecords(kBefore, {}, 64, 1).front().key);
}

TEST(ShelfRecords, OnlyTheFirstIsATail) {
  const std::vector<TokenId> tail = {7, 8, 9};
  const std::vector<ShelfPage> pieces = StateRecords(kBefore, tail, 67, 4);
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

TEST(ShelfRecords, PlacesBesideEachOtherHaveOtherKeys) {
  const std::vector<TokenId> tail = {7, 8, 9};
  const auto key = [&](size_t count) {
    return StateRecords(kBefore, std::span(tail).first(count), 64, 1).front().key;
  };
  EXPECT_NE(key(0), key(1));
  EXPECT_NE(key(2), key(3));
  EXPECT_TRUE(disk::IsTail(StateRecords(kBefore, {}, 64, 1).front().tokens));
}

}  // namespace
}  // namespace skald::engine
