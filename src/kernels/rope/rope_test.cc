#include "kernels/rope/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/test_data.h"

namespace skald::kernels {
namespace {

constexpr float kPoison = -12345.0f;
constexpr RopePairing kBothPairings[] = {RopePairing::kAdjacent, RopePairing::kHalves};

struct Angles {
  std::vector<float> cosine;
  std::vector<float> sine;
};

Angles RandomAngles(int64_t pairs, std::mt19937& random) {
  Angles angles;
  for (int64_t i = 0; i < pairs; ++i) {
    const double angle = static_cast<double>(random() % 100000) * 1e-3;
    angles.cosine.push_back(static_cast<float>(std::cos(angle)));
    angles.sine.push_back(static_cast<float>(std::sin(angle)));
  }
  return angles;
}

// `heads` through the variant of `isa`, with poison behind the last one.
std::vector<float> Rotated(Isa isa, RopePairing pairing, std::vector<float> heads, int64_t head_dim,
                           const Angles& angles) {
  RopeArgs args;
  args.heads = static_cast<int64_t>(heads.size()) / head_dim;
  heads.resize(heads.size() + 32, kPoison);
  args.x = heads.data();
  args.head_dim = head_dim;
  args.rotated = 2 * static_cast<int64_t>(angles.cosine.size());
  args.cosine = angles.cosine.data();
  args.sine = angles.sine.data();
  args.pairing = pairing;
  TableFor(isa).rope(args);
  return heads;
}

class RopeTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, RopeTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(RopeTest, GivesTheBitsOfTheSpecificationAtEverySize) {
  std::mt19937 random(1);
  for (const RopePairing pairing : kBothPairings) {
    for (int64_t pairs = 0; pairs <= 70; ++pairs) {
      for (const int64_t unrotated : {0, 1, 16}) {
        const int64_t head_dim = 2 * pairs + unrotated;
        if (head_dim == 0) continue;
        std::vector<float> x(static_cast<size_t>(3 * head_dim));
        for (float& value : x) value = RandomFloat(random);
        const Angles angles = RandomAngles(pairs, random);
        const std::vector<float> expected = Rotated(ScalarIsa(), pairing, x, head_dim, angles);
        const std::vector<float> got = Rotated(GetParam(), pairing, x, head_dim, angles);
        ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
            << pairs << " pairs, " << unrotated << " unrotated";
        ASSERT_EQ(got[x.size()], kPoison) << "written past the last head";
      }
    }
  }
}

TEST_P(RopeTest, AQuarterTurnMovesFirstToSecondAndSecondToMinusFirst) {
  const Angles quarter = {{0.0f, 1.0f}, {1.0f, 0.0f}};  // pair 0 by 90 degrees, pair 1 not at all
  const std::vector<float> x = {1, 2, 3, 4, 5};
  std::vector<float> y = Rotated(GetParam(), RopePairing::kAdjacent, x, 5, quarter);
  y.resize(5);
  EXPECT_EQ(y, (std::vector<float>{-2, 1, 3, 4, 5}));
  y = Rotated(GetParam(), RopePairing::kHalves, x, 5, quarter);
  y.resize(5);
  EXPECT_EQ(y, (std::vector<float>{-3, 2, 1, 4, 5}));
}

TEST_P(RopeTest, KeepsTheLengthOfEveryPair) {
  std::mt19937 random(2);
  const Angles angles = RandomAngles(32, random);
  std::vector<float> x(64);
  for (float& value : x) value = RandomFloat(random);
  const std::vector<float> y = Rotated(GetParam(), RopePairing::kHalves, x, 64, angles);
  for (size_t i = 0; i < 32; ++i) {
    const double before = std::hypot(double{x[i]}, double{x[i + 32]});
    const double after = std::hypot(double{y[i]}, double{y[i + 32]});
    // cos and sin are each wrong by half a unit in the last place, the rotation adds two roundings.
    EXPECT_NEAR(after, before, 6 * 0x1p-24 * before);
  }
}

}  // namespace
}  // namespace skald::kernels
