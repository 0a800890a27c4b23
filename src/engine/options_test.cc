#include "engine/options.h"

#include <gtest/gtest.h>

namespace skald::engine {
namespace {

TEST(Resolve, TheContextEndsWhereLearnedPositionsDo) {
  const auto resolve = [](int64_t context, model::Positions positions) {
    return Resolve({.context = context}, {.context = 100, .positions = positions});
  };
  EXPECT_TRUE(resolve(100, model::Positions::kLearned).ok());
  EXPECT_EQ(resolve(0, model::Positions::kLearned)->context, 100);
  EXPECT_TRUE(resolve(101, model::Positions::kNone).ok());
  const auto refused = resolve(101, model::Positions::kLearned);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("context is 101, expected 1 to 100"), std::string::npos)
      << refused.status().message();
}

TEST(Resolve, AnEndlessContextIsLongUnlessAskedFor) {
  const model::Network network = {.context = kMaxContext, .is_endless = true};
  EXPECT_EQ(Resolve({}, network)->context, kDefaultEndlessContext);
  EXPECT_EQ(Resolve({.context = 70}, network)->context, 70);
}

// A model whose rows see rows behind them.
model::Network Encoder(int64_t context) {
  model::Network network = {.context = context};
  network.layers.resize(1);
  network.layers[0].mixer = model::Gqa{.mask = model::Mask::kNone};
  return network;
}

TEST(Resolve, AStepHasRoomForAContextWhereTextsAreNotCut) {
  const auto resolved = Resolve({.max_chunk = 64}, Encoder(700));
  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  EXPECT_TRUE(resolved->whole_texts);
  EXPECT_EQ(resolved->context, 700);
  EXPECT_EQ(resolved->max_chunk, 700);
  EXPECT_GE(resolved->max_rows, 700);
  EXPECT_FALSE(Resolve({}, {.context = 700})->whole_texts);
  const auto refused = Resolve({.context = kMaxChunk + 1}, Encoder(kMaxContext));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find(
                "context of a model that reads texts whole is 65537, expected 1 to 65536"),
            std::string::npos)
      << refused.status().message();
}

TEST(Resolve, NobodyGuessesWhereNothingIsGenerated) {
  EngineOptions options;
  options.speculation.kind = Speculation::kNgram;
  EXPECT_GT(Resolve(options, {.context = 100})->max_draft_rows, 0);
  EXPECT_EQ(Resolve(options, Encoder(100))->max_draft_rows, 0);
}

// Keys as integers, of layers that keep latents: refused, by what the user can change.
TEST(Resolve, LatentsAreNotQuantized) {
  model::Network latent = {.context = 100};
  latent.layers.emplace_back().mixer = model::Mla{.rope_dim = 2, .rank = 4};
  const auto resolve = [&](KvCacheTypes types) { return Resolve({.kv_types = types}, latent); };
  EXPECT_TRUE(resolve(KvCacheType::kF32).ok());
  EXPECT_TRUE(resolve({KvCacheType::kF16, KvCacheType::kQ8}).ok()) << "there are no values";
  for (const KvCacheType type : {KvCacheType::kQ8, KvCacheType::kQ4}) {
    const auto refused = resolve(type);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.status().message().find("expected f16, bf16 or f32"), std::string::npos)
        << refused.status().message();
  }
}

}  // namespace
}  // namespace skald::engine
