#include "kv/state_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace skald::kv {
namespace {

TEST(StatePool, GivesEverySlotOnceThenNone) {
  StatePool pool(3);
  std::vector<StateSlot> slots;
  std::set<StateId> ids;
  for (int i = 0; i < 3; ++i) {
    slots.push_back(pool.Take());
    EXPECT_TRUE(slots.back().holds());
    ids.insert(slots.back().id());
  }
  EXPECT_EQ(ids, (std::set<StateId>{0, 1, 2}));
  EXPECT_FALSE(pool.Take().holds());
  EXPECT_EQ(pool.free_count(), 0);
  EXPECT_EQ(pool.held_count(), 3);
  EXPECT_EQ(pool.CheckIntegrity(), "");
}

TEST(StatePool, KnowsTheHighestSlotThatAnybodyHasHad) {
  StatePool pool(3);
  { const StateSlot slot = pool.Take(); }
  EXPECT_EQ(pool.used_end(), 1);
  const StateSlot first = pool.Take();
  const StateSlot second = pool.Take();
  EXPECT_EQ(pool.used_end(), 2);
}

TEST(StatePool, ASlotComesBackWithTheEndOfItsHolder) {
  StatePool pool(1);
  StateId id = kNoState;
  {
    const StateSlot slot = pool.Take();
    id = slot.id();
    EXPECT_TRUE(pool.is_held(id));
  }
  EXPECT_FALSE(pool.is_held(id));
  EXPECT_EQ(pool.Take().id(), id);
}

TEST(StatePool, AMovedSlotHasOneHolder) {
  StatePool pool(2);
  StateSlot a = pool.Take();
  StateSlot b = pool.Take();
  const StateId kept = a.id();
  b = std::move(a);  // gives its own back
  EXPECT_EQ(b.id(), kept);
  EXPECT_EQ(pool.held_count(), 1);
  StateSlot c = std::move(b);
  EXPECT_EQ(c.id(), kept);
  c.Release();
  c.Release();  // none: nothing to give back
  EXPECT_EQ(c.id(), kNoState);
  EXPECT_EQ(pool.free_count(), 2);
  EXPECT_EQ(pool.CheckIntegrity(), "");
}

TEST(StatePool, OfANetworkWithoutStatesIsEmpty) {
  StatePool pool(0);
  EXPECT_FALSE(pool.Take().holds());
  EXPECT_EQ(pool.total_count(), 0);
  EXPECT_EQ(pool.CheckIntegrity(), "");
}

}  // namespace
}  // namespace skald::kv
