#include "model/endless.h"

#include <gtest/gtest.h>

namespace skald::model {
namespace {

// A layer that sees all, and one with a window of its own.
Network SmallNetwork() {
  Network network;
  network.vocab = 10;
  network.width = 64;
  network.context = 128;
  const Gqa gqa = {
      .width = 64, .heads = 4, .kv_heads = 2, .key_dim = 16, .value_dim = 8, .scale = 0.25f};
  network.layers.assign(2, {.mixer = gqa, .feed_forward = Gated{.width = 64, .hidden = 96}});
  std::get<Gqa>(network.layers[1].mixer).window = 32;
  network.ropes.assign(1, {.rotated = 16});
  return network;
}

ErrorCode Refusal(const Endless& endless, Network network = SmallNetwork()) {
  const Status status = MakeEndless(endless, &network);
  return status.ok() ? ErrorCode::kOk : status.code();
}

TEST(MakeEndless, GivesLayersThatSeeAllAWindow) {
  Network network = SmallNetwork();
  ASSERT_TRUE(MakeEndless({.sinks = 4, .window = 100}, &network).ok());
  EXPECT_EQ(std::get<Gqa>(network.layers[0].mixer).window, 100);
  EXPECT_EQ(std::get<Gqa>(network.layers[0].mixer).pinned, 4);
  EXPECT_EQ(std::get<Gqa>(network.layers[1].mixer).window, 32);
  EXPECT_EQ(std::get<Gqa>(network.layers[1].mixer).pinned, 0);
  EXPECT_EQ(network.context, kEndlessContext);
  const kv::KvLayout layout = KvLayoutOf(network, {});
  EXPECT_EQ(layout.window, 100);
  EXPECT_EQ(layout.pinned, 4);
  EXPECT_EQ(layout.page_bytes(kv::PageGroup::kFull), 0);
  EXPECT_TRUE(Validate(network).ok());
}

TEST(MakeEndless, LimitsLatentAttention) {
  Network network = SmallNetwork();
  network.layers[0].mixer = Mla{.heads = 2, .rope_dim = 8, .rank = 16};
  ASSERT_TRUE(MakeEndless({.sinks = 4, .window = 100}, &network).ok());
  EXPECT_EQ(std::get<Mla>(network.layers[0].mixer).window, 100);
  EXPECT_EQ(KvLayoutOf(network, {}).window, 100);
  EXPECT_EQ(KvLayoutOf(network, {}).pinned, 4);
}

TEST(MakeEndless, TakesFactorsForLongTextsForLongDistancesOnly) {
  for (const int64_t window : {60, 61}) {
    Network network = SmallNetwork();
    network.ropes[0].original_context = 64;
    network.ropes[0].long_factors_name = "rope_factors_long.weight";
    ASSERT_TRUE(MakeEndless({.sinks = 4, .window = window}, &network).ok());
    EXPECT_EQ(network.ropes[0].long_factors_name.empty(), window == 60);
  }
}

TEST(MakeEndless, LeavesOthersAlone) {
  Network network = SmallNetwork();
  ASSERT_TRUE(MakeEndless({}, &network).ok());
  EXPECT_EQ(network.context, 128);
  EXPECT_FALSE(network.is_endless);
  EXPECT_EQ(KvLayoutOf(network, {}).pinned, 0);
}

TEST(MakeEndless, RefusesNumbersThatMakeNoSense) {
  EXPECT_EQ(Refusal({.sinks = 0, .window = 1}), ErrorCode::kOk);
  EXPECT_EQ(Refusal({.sinks = kMaxSinks, .window = kMaxEndlessWindow}), ErrorCode::kOk);
  for (const Endless& endless : {Endless{4, 0}, Endless{-1, 5}, Endless{kMaxSinks + 1, 5},
                                 Endless{4, -1}, Endless{4, kMaxEndlessWindow + 1}}) {
    EXPECT_EQ(Refusal(endless), ErrorCode::kInvalidArgument);
  }
}

TEST(MakeEndless, RefusesNetworksThatCannotBe) {
  const auto refusal = [](const auto& change) {
    Network network = SmallNetwork();
    change(network);
    return Refusal({.sinks = 4, .window = 10}, network);
  };
  const auto gqa = [](Network& n) -> Gqa& { return std::get<Gqa>(n.layers[0].mixer); };
  EXPECT_EQ(refusal([](Network& n) { n.positions = Positions::kLearned; }),
            ErrorCode::kUnsupported);
  EXPECT_EQ(refusal([](Network& n) { n.picked_positions = 64; }), ErrorCode::kUnsupported);
  EXPECT_EQ(refusal([&](Network& n) { gqa(n).mask = Mask::kNone; }), ErrorCode::kUnsupported);
  EXPECT_EQ(refusal([&](Network& n) { gqa(n).chunk = 9; }), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace skald::model
