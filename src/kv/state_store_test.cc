#include "kv/state_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

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

TEST(StateStore, ACopyIsWholeAndTouchesNoOther) {
  StateStore store = *StateStore::Create({.floats = 32, .slots = 3});
  for (StateId id = 0; id < 3; ++id) {
    for (int i = 0; i < 32; ++i) store.Slot(id)[i] = static_cast<float>(100 * id + i);
  }
  store.Copy({.from = 2, .to = 0});
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(store.Slot(0)[i], static_cast<float>(200 + i));
    EXPECT_EQ(store.Slot(1)[i], static_cast<float>(100 + i));
  }
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
