#include "engine/pooler.h"

#include <gtest/gtest.h>

#include <limits>

namespace skald::engine {
namespace {

std::vector<float> Pool(Pooling pooling, const std::vector<std::vector<float>>& rows) {
  Pooler pooler(pooling);
  for (const std::vector<float>& row : rows) pooler.Take(row);
  Result<std::vector<float>> embedding = pooler.Embedding();
  EXPECT_TRUE(embedding.ok()) << embedding.status().message();
  return *std::move(embedding);
}

using Vector = std::vector<float>;

TEST(Pooler, TheVectorHasLengthOne) {
  EXPECT_EQ(Pool(Pooling::kLast, {{3, 4}}), (Vector{0.6f, 0.8f}));
  EXPECT_EQ(Pool(Pooling::kLast, {{0, -5, 0}}), (Vector{0, -1, 0}));
  EXPECT_EQ(Pool(Pooling::kLast, {{3e38f, 3e38f}}).size(), 2u);  // squares fit a double
}

TEST(Pooler, TheMeanIsOfAllRows) {
  EXPECT_EQ(Pool(Pooling::kMean, {{6, 0}, {0, 8}}), (Vector{0.6f, 0.8f}));
  EXPECT_EQ(Pool(Pooling::kMean, {{1, 1}, {2, 3}, {0, 0}}), (Vector{0.6f, 0.8f}));
}

TEST(Pooler, NothingHasNoDirection) {
  EXPECT_EQ(Pool(Pooling::kMean, {{1, -2}, {-1, 2}}), (Vector{0, 0}));
}

TEST(Pooler, WantsTheLastPositionOrAllThatItHasNot) {
  Pooler last(Pooling::kLast);
  EXPECT_EQ(last.FirstWanted(1), 0);
  EXPECT_EQ(last.FirstWanted(40), 39);
  Pooler mean(Pooling::kMean);
  EXPECT_EQ(mean.FirstWanted(40), 0);
  const Vector row = {1};
  mean.Take(row);
  mean.Take(row);
  EXPECT_EQ(mean.FirstWanted(40), 2);
  EXPECT_EQ(mean.EndWanted(40), 40);
}

TEST(Pooler, WantsTheFirstPositionOnce) {
  Pooler first(Pooling::kFirst);
  EXPECT_EQ(first.FirstWanted(40), 0);
  EXPECT_EQ(first.EndWanted(40), 1);
  first.Take(Vector{3, 4});
  EXPECT_EQ(first.FirstWanted(40), 40);
  EXPECT_EQ(*first.Embedding(), (Vector{0.6f, 0.8f}));
}

TEST(Pooler, WhatIsNoNumberIsAnError) {
  for (const float broken :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Pooler pooler(Pooling::kMean);
    pooler.Take(Vector{1, broken});
    pooler.Take(Vector{1, 1});
    EXPECT_EQ(ErrorCodeName(pooler.Embedding().status().code()), "numeric");
  }
}

TEST(Pooler, WhatWasTakenKeepsItsLength) {
  Pooler mean(Pooling::kMean);
  mean.Take(std::vector<float>{6, 0});
  mean.Take(std::vector<float>{0, 8});
  EXPECT_EQ(mean.Pooled(), (std::vector<float>{3, 4}));
  Pooler last(Pooling::kLast);
  last.Take(std::vector<float>{3, -4});
  EXPECT_EQ(last.Pooled(), (std::vector<float>{3, -4}));
}

TEST(Pooler, PoolingHasNames) {
  EXPECT_EQ(PoolingName(Pooling::kNone), "none");
  EXPECT_EQ(PoolingName(Pooling::kLast), "last");
  EXPECT_EQ(PoolingName(Pooling::kMean), "mean");
  EXPECT_EQ(PoolingName(Pooling::kFirst), "first");
}

}  // namespace
}  // namespace skald::engine
