#include "kv/state_store.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace skald::kv {
namespace {

TEST(StateStore, SlotsAreApartAndAligned) {
  StateStore store = *StateStore::Create({.floats = 48, .slots = 3});
  EXPECT_EQ(store.bytes(), 3 * 48 * 4);
  for (StateId id = 0; id < 3; ++id) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(store.Slot(id)) % 64, 0u);
    if (id > 0) {
      EXPECT_EQ(store.Slot(id) - store.Slot(id - 1), 48);
    }
  }
}

// Of three slots, each float of which says whose it is.
StateStore NumberedSlots() {
  StateStore store = *StateStore::Create({.floats = 32, .slots = 3});
  for (StateId id = 0; id < 3; ++id) {
    for (int i = 0; i < 32; ++i) store.Slot(id)[i] = static_cast<float>(100 * id + i);
  }
  return store;
}

void ExpectSlot(StateStore& store, StateId id, StateId holds) {
  for (int i = 0; i < 32; ++i) EXPECT_EQ(store.Slot(id)[i], static_cast<float>(100 * holds + i));
}

TEST(StateStore, ACopyIsWholeAndTouchesNoOther) {
  StateStore store = NumberedSlots();
  store.Copy({.from = 2, .to = 0});
  EXPECT_TRUE(store.HasCopies());
  store.MakeCopies(16, 16);
  store.MakeCopies(0, 16);
  store.ForgetCopies();
  EXPECT_FALSE(store.HasCopies());
  ExpectSlot(store, 0, 2);
  ExpectSlot(store, 1, 1);
}

// What a slot held goes on to the next before it is written over.
TEST(StateStore, CopiesAreMadeInTheirOrder) {
  StateStore store = NumberedSlots();
  store.Copy({.from = 1, .to = 2});
  store.Copy({.from = 0, .to = 1});
  store.MakeCopies(0, 32);
  ExpectSlot(store, 2, 1);
  ExpectSlot(store, 1, 0);
}

TEST(StateStore, WhoLooksBeforeTheStepSeesWhatWasCopied) {
  StateStore store = NumberedSlots();
  store.Copy({.from = 2, .to = 0});
  std::array<float, 32> saved = {};
  store.Save(1, 0, std::as_writable_bytes(std::span(saved)));
  EXPECT_TRUE(store.HasCopies()) << "of other slots";
  store.Save(0, 0, std::as_writable_bytes(std::span(saved)));
  EXPECT_FALSE(store.HasCopies());
  EXPECT_EQ(saved[31], 231);

  // The one that is copied from may be another's before the step.
  store.Copy({.from = 1, .to = 0});
  store.Load(1, 0, std::as_bytes(std::span(saved)));
  ExpectSlot(store, 0, 1);
  ExpectSlot(store, 1, 2);
  store.Copy({.from = 0, .to = 2});
  store.Poison(0);
  ExpectSlot(store, 2, 1);
}

TEST(StateStore, CopiesOfNothingAreNone) {
  StateStore store = *StateStore::Create({.floats = 0, .slots = 3});
  store.Copy({.from = 0, .to = 1});
  EXPECT_FALSE(store.HasCopies());
}

TEST(StateStore, CommitsTheFirstSlotsPieceByPiece) {
  constexpr int64_t kFloats = 3 << 18;  // a slot and a half of a piece
  StateStore store = *StateStore::Create({.floats = kFloats, .slots = 4});
  store.Slot(1)[5] = 7;
  int pieces = 0;
  while (store.CommitNext(2)) ++pieces;
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(store.Slot(1)[5], 7);
  while (store.CommitNext(9)) ++pieces;
  EXPECT_EQ(pieces, 6);
  EXPECT_FALSE(StateStore::Create({})->CommitNext(1));
}

TEST(StateStore, PoisonIsNaNInOneSlot) {
  StateStore store = *StateStore::Create({.floats = 16, .slots = 2});
  store.Poison(1);
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(std::isnan(store.Slot(1)[i]));
    EXPECT_EQ(store.Slot(0)[i], 0.0f);
  }
}

TEST(StateStore, OfNothingTakesNothing) {
  EXPECT_EQ(StateStore::Create({.floats = 0, .slots = 5})->bytes(), 0);
}

TEST(StateStore, MoreThanTheAddressSpaceIsAnError) {
  const auto store = StateStore::Create({.floats = int64_t{1} << 40, .slots = int64_t{1} << 40});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace skald::kv
