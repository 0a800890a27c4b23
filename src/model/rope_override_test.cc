#include "model/rope_override.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace skald::model {
namespace {

// Two layers that see all, and one with a window and a rope of its own.
Network SmallNetwork() {
  Network network;
  network.vocab = 10;
  network.width = 64;
  network.context = 128;
  const Gqa gqa = {
      .width = 64, .heads = 4, .kv_heads = 2, .key_dim = 16, .value_dim = 8, .scale = 0.25f};
  network.layers.assign(3, {.mixer = gqa, .feed_forward = Gated{.width = 64, .hidden = 96}});
  std::get<Gqa>(network.layers[1].mixer).window = 32;
  std::get<Gqa>(network.layers[1].mixer).rope = 1;
  network.ropes.assign(2, {.rotated = 16});
  network.ropes[1].base = 500;
  return network;
}

Network Changed(const RopeOverride& override, Network network = SmallNetwork()) {
  const Status status = OverrideRopes(override, &network);
  EXPECT_TRUE(status.ok()) << status.message();
  return network;
}

Status Refused(const RopeOverride& override, Network network = SmallNetwork()) {
  return OverrideRopes(override, &network);
}

TEST(OverrideRopes, LeavesWhatTheFileSaysWhereNothingIsAskedFor) {
  EXPECT_TRUE(RopeOverride().empty());
  const Network network = Changed({});
  EXPECT_EQ(network.context, 128);
  EXPECT_EQ(network.ropes[0].scaling, RopeScaling::kNone);
}

TEST(OverrideRopes, StretchesTheRopesOfLayersThatSeeAll) {
  const Network network = Changed({.stretch = RopeStretch::kYarn, .factor = 4});
  EXPECT_EQ(network.context, 512);
  EXPECT_EQ(network.ropes[0].scaling, RopeScaling::kYarn);
  EXPECT_EQ(network.ropes[0].factor, 4);
  EXPECT_EQ(network.ropes[0].original_context, 128);
  EXPECT_EQ(network.ropes[1].scaling, RopeScaling::kNone);
  EXPECT_EQ(network.ropes[1].base, 500);
  EXPECT_TRUE(Validate(network).ok());
}

TEST(OverrideRopes, TakesEveryNumberOfYarn) {
  const Rope rope = Changed({.stretch = RopeStretch::kYarn,
                             .factor = 2.5,
                             .base = 1e6,
                             .trained_context = 100,
                             .extrapolation = 0,
                             .magnitude = 1.5,
                             .beta_fast = 16,
                             .beta_slow = 2})
                        .ropes[0];
  EXPECT_EQ(rope.base, 1e6);
  EXPECT_EQ(rope.original_context, 100);
  EXPECT_EQ(rope.extrapolation, 0);
  EXPECT_EQ(rope.magnitude, 1.5);
  EXPECT_EQ(rope.beta_fast, 16);
  EXPECT_EQ(rope.beta_slow, 2);
}

TEST(OverrideRopes, TheTrainedContextTimesTheFactorIsTheNewOne) {
  EXPECT_EQ(Changed({.factor = 2.5, .trained_context = 101}).context, 252);
  // A file that is stretched already says what it was trained with.
  Network stretched = SmallNetwork();
  stretched.ropes[0].scaling = RopeScaling::kYarn;
  stretched.ropes[0].factor = 4;
  stretched.ropes[0].original_context = 32;
  const Network further = Changed({.factor = 8}, stretched);
  EXPECT_EQ(further.ropes[0].scaling, RopeScaling::kYarn);
  EXPECT_EQ(further.context, 256);
  EXPECT_EQ(Changed({.stretch = RopeStretch::kNone}, stretched).context, 32);
  // A base says nothing of lengths.
  EXPECT_EQ(Changed({.base = 2e6}, stretched).context, 128);
}

TEST(OverrideRopes, AFactorAloneIsLinear) {
  EXPECT_EQ(Changed({.factor = 2}).ropes[0].scaling, RopeScaling::kLinear);
}

// The slowest pair turns as with positions divided by the factor, the fastest as before.
TEST(OverrideRopes, NtkKeepsTheFastestAndStretchesTheSlowest) {
  const RopeFrequencies before = ComputeRopeFrequencies(SmallNetwork().ropes[0]);
  const Network network = Changed({.stretch = RopeStretch::kNtk, .factor = 8});
  const RopeFrequencies after = ComputeRopeFrequencies(network.ropes[0]);
  EXPECT_EQ(network.context, 1024);
  EXPECT_EQ(after.angle.front(), before.angle.front());
  EXPECT_NEAR(after.angle.back() * 8, before.angle.back(), 1e-15);
  EXPECT_EQ(after.magnitude, 1);
}

TEST(OverrideRopes, AMagnitudeOfTheFileIsThatOfItsWay) {
  Network yarn = SmallNetwork();
  yarn.ropes[0].scaling = RopeScaling::kYarn;
  yarn.ropes[0].original_context = 32;
  yarn.ropes[0].magnitude = 1.3;
  yarn.ropes[0].attention_factor = 1.1;
  EXPECT_EQ(ComputeRopeFrequencies(Changed({.factor = 8}, yarn).ropes[0]).magnitude, 1.3 * 1.1);
  const RopeOverride linear = {.stretch = RopeStretch::kLinear, .factor = 8};
  EXPECT_EQ(ComputeRopeFrequencies(Changed(linear, yarn).ropes[0]).magnitude, 1);
}

TEST(OverrideRopes, RefusesNumbersThatMakeNoSense) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const RopeOverride& bad :
       {RopeOverride{.factor = 0}, RopeOverride{.factor = -1}, RopeOverride{.factor = none},
        RopeOverride{.factor = 1e9}, RopeOverride{.base = 0.5}, RopeOverride{.trained_context = 0},
        RopeOverride{.extrapolation = 1.5}, RopeOverride{.magnitude = 0},
        RopeOverride{.beta_fast = 0}, RopeOverride{.beta_slow = -1},
        RopeOverride{.factor = 60000, .trained_context = 1 << 20}, RopeOverride{.factor = 0.001}}) {
    const Status status = Refused(bad);
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << status.message();
  }
  const Status by_how_much = Refused({.stretch = RopeStretch::kYarn});
  EXPECT_NE(by_how_much.message().find("give a factor"), std::string::npos);
}

TEST(OverrideRopes, StretchesNoContextOfWhichAnIndexerWouldPick) {
  Network network = SmallNetwork();
  network.picked_positions = 128;
  EXPECT_EQ(Refused({.factor = 2}, network).code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(Refused({.base = 500}, network).ok());
  network.context = 129;
  EXPECT_FALSE(Validate(network).ok());
}

TEST(OverrideRopes, RefusesNetworksWithoutRopesThatCouldBeChanged) {
  Network none = SmallNetwork();
  for (Layer& layer : none.layers) std::get<Gqa>(layer.mixer).rope.reset();
  EXPECT_EQ(Refused({.factor = 2}, none).code(), ErrorCode::kUnsupported);
  Network windows = SmallNetwork();
  for (Layer& layer : windows.layers) std::get<Gqa>(layer.mixer).window = 8;
  EXPECT_EQ(Refused({.factor = 2}, windows).code(), ErrorCode::kUnsupported);
  Network latent = SmallNetwork();
  latent.layers[2].mixer = Mla{};
  EXPECT_EQ(Refused({.factor = 2}, latent).code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace skald::model
