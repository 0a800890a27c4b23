#include "model/split.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace skald::model {
namespace {

Gqa Attention(int64_t heads, int64_t kv_heads) {
  return {.width = 72,
          .heads = heads,
          .kv_heads = kv_heads,
          .key_dim = 8,
          .value_dim = 4,
          .scale = 1,
          .slopes = std::vector<float>(static_cast<size_t>(heads), 1)};
}

Network NetworkOf(const Gqa& gqa, FeedForward feed_forward) {
  return {.vocab = 100,
          .width = 72,
          .context = 64,
          .layers = {{.mixer = gqa, .feed_forward = std::move(feed_forward)}},
          .ropes = {{.rotated = 8}}};
}

// How many ranks have each row of the tensors of which not all have all.
std::map<std::string, std::vector<int>> Owners(const Network& whole, int ranks) {
  std::map<std::string, std::vector<int>> owners;
  for (int index = 0; index < ranks; ++index) {
    Network part = whole;
    EXPECT_TRUE(Split({.index = index, .count = ranks}, &part).ok());
    EXPECT_TRUE(Validate(part).ok()) << Validate(part).message();
    for (const TensorSlot& slot : TensorsOf(part)) {
      if (slot.all_rows == 0) continue;
      std::vector<int>& rows = owners[slot.name];
      rows.resize(static_cast<size_t>(slot.all_rows));
      const int64_t count = slot.is_vector() ? slot.cols : slot.rows;
      for (int64_t i = 0; i < count; ++i) ++rows[static_cast<size_t>(slot.first_row + i)];
    }
  }
  return owners;
}

TEST(Split, GivesEachRowToOneRank) {
  Gqa fused = Attention(9, 9);
  fused.fusion = Fusion::kFused;
  const Experts experts = {.width = 72,
                           .hidden = 40,
                           .count = 3,
                           .used = 2,
                           .shared = {.hidden = 56},
                           .fusion = Fusion::kFused};
  for (const int ranks : {2, 3, 4}) {
    const Network dense =
        NetworkOf(fused, Gated{.width = 72, .hidden = 100, .fusion = Fusion::kFused});
    const Network mixture = NetworkOf(Attention(8, 4), experts);
    for (const Network& network :
         {dense, mixture, NetworkOf(Attention(12, 4), Plain{.width = 72, .hidden = 88})}) {
      const auto owners = Owners(network, ranks);
      EXPECT_GE(owners.size(), 6u);
      for (const auto& [name, rows] : owners) {
        EXPECT_EQ(rows, std::vector<int>(rows.size(), 1)) << name << ", " << ranks << " ranks";
      }
    }
  }
}

// Of 3 query heads on each of 2 KV heads, 5 ranks have 1, 1, 1, 1 and 2.
TEST(Split, SharesAKvHeadAmongMoreRanksThanThereAre) {
  const Network whole = NetworkOf(Attention(6, 2), Gated{.width = 72, .hidden = 100});
  const auto owners = Owners(whole, 5);
  EXPECT_EQ(owners.at("blk.0.attn_q.weight"), std::vector<int>(48, 1));
  std::vector<int> kv(16, 3);
  std::fill(kv.begin() + 8, kv.end(), 2);
  EXPECT_EQ(owners.at("blk.0.attn_k.weight"), kv);
  for (int index = 0; index < 5; ++index) {
    Network part = whole;
    ASSERT_TRUE(Split({.index = index, .count = 5}, &part).ok());
    const Gqa& gqa = std::get<Gqa>(part.layers[0].mixer);
    EXPECT_EQ(gqa.heads, index == 4 ? 2 : 1);
    EXPECT_EQ(std::ssize(gqa.slopes), gqa.heads);
    EXPECT_EQ(KvLayoutOf(part, kernels::KvType::kF16).layers[0].kv_heads, 1);
  }
}

TEST(Split, NamesWhatItCannotSplit) {
  const auto problem = [](const Gqa& gqa, FeedForward feed_forward, int ranks) {
    Network network = NetworkOf(gqa, std::move(feed_forward));
    return Split({.index = 0, .count = ranks}, &network).message();
  };
  const Gated gated = {.width = 72, .hidden = 100};
  EXPECT_EQ(problem(Attention(2, 2), gated, 3),
            "layer 0: 3 ranks share 2 heads, 1 of a KV head: expected fewer ranks");
  Gqa normed = Attention(6, 2);
  normed.head_norm = HeadNorm::kRmsOfRow;
  EXPECT_EQ(problem(normed, gated, 2), "");
  EXPECT_EQ(problem(normed, gated, 3),
            "layer 0: 3 ranks share 2 KV heads that are normed together: expected fewer ranks");
  EXPECT_EQ(problem(Attention(2, 2),
                    Experts{.width = 72, .hidden = 40, .count = 3, .used = 2, .latent = 16}, 2),
            "layer 0: this version does not split latent experts among ranks");
}

}  // namespace
}  // namespace skald::model
