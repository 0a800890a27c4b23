#include "model/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
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

// Adds one to each row of its tensor that a slot has.
void Count(const TensorSlot& slot, std::vector<int>* owners) {
  const bool of_elements = slot.is_vector() && slot.vector_cut == VectorCut::kElements;
  // Of a slot by columns, as of others, what was cut is what its tensor has as rows.
  const int64_t own = of_elements || slot.is_stored_by_columns() ? slot.cols : slot.rows;
  const int64_t rows = std::max(slot.all_rows, own);
  owners->resize(static_cast<size_t>(rows * std::max(slot.all_slices, slot.slices)));
  const std::vector<RowRun> runs =
      slot.runs.empty() ? std::vector<RowRun>{{slot.first_row, own}} : slot.runs;
  for (int64_t slice = slot.first_slice; slice < slot.first_slice + slot.slices; ++slice) {
    for (const auto& [first, count] : runs) {
      for (int64_t i = 0; i < count; ++i) {
        ++owners->at(static_cast<size_t>(slice * rows + first + i));
      }
    }
  }
}

// How many ranks have each row of the tensors of which not all have all.
std::map<std::string, std::vector<int>> Owners(const Network& whole, int ranks) {
  std::map<std::string, std::vector<int>> owners;
  for (int index = 0; index < ranks; ++index) {
    Network part = whole;
    EXPECT_TRUE(Split({.index = index, .count = ranks}, &part).ok());
    EXPECT_TRUE(Validate(part).ok()) << Validate(part).message();
    for (const TensorSlot& slot : TensorsOf(part)) {
      if (slot.all_rows > 0 || slot.all_slices > 0) Count(slot, &owners[slot.name]);
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

// In whole units of the formats of activations where no rank has much more than another.
TEST(PanelsOf, Are128RowsAtATimeWhereThatIsFair) {
  const auto second = [](int64_t rows, int ranks) {
    const RowPart part = PanelsOf(rows, {.index = 1, .count = ranks});
    return std::array{part.first_row, part.rows, part.multiple};
  };
  EXPECT_EQ(second(5632, 2), (std::array<int64_t, 3>{2816, 2816, 128}));
  EXPECT_EQ(second(5632, 3), (std::array<int64_t, 3>{1792, 1920, 128}));
  EXPECT_EQ(second(2048, 3), (std::array<int64_t, 3>{672, 688, 16}));
  EXPECT_EQ(second(256, 2), (std::array<int64_t, 3>{128, 128, 128}));
  EXPECT_EQ(second(100, 2), (std::array<int64_t, 3>{48, 52, 1}));
}

// The tensors of a mixer of which all ranks have all.
std::set<std::string> Replicated(Network network) {
  EXPECT_TRUE(Split({.index = 1, .count = 2}, &network).ok());
  std::set<std::string> names;
  for (const TensorSlot& slot : TensorsOf(network)) {
    const bool cut = slot.all_rows > 0 || slot.all_slices > 0;
    if (!cut && !slot.is_vector()) names.insert(slot.name);
  }
  return names;
}

Network NetworkOfMixer(Mixer mixer) {
  Network network = NetworkOf(Attention(8, 4), Gated{.width = 72, .hidden = 100});
  network.layers[0].mixer = std::move(mixer);
  return network;
}

DeltaNet Delta(KeyHeadOrder order, Fusion projections, Fusion gates) {
  return {.width = 72,
          .key_heads = 4,
          .value_heads = 12,
          .key_dim = 8,
          .value_dim = 8,
          .taps = 4,
          .order = order,
          .projections = projections,
          .gates = gates};
}

// Latents, states of all kinds: each row in one rank, and none of a mixer in all but what is small.
TEST(Split, GivesEachRowOfAMixerToOneRank) {
  Mla mla = {.width = 72,
             .heads = 5,
             .nope_dim = 8,
             .rope_dim = 8,
             .value_dim = 8,
             .rank = 80,
             .query_rank = 70,
             .scale = 1};
  Mla fused = mla;
  fused.key_value = Fusion::kFused;
  const Kda kda = {.width = 72, .heads = 5, .head_dim = 8, .taps = 4};
  const Mamba2 mamba = {
      .width = 72, .heads = 8, .head_dim = 8, .state_dim = 8, .groups = 4, .taps = 4};
  const std::set<std::string> none = {"token_embd.weight"};
  const std::set<std::string> gates = {"token_embd.weight", "blk.0.ssm_f_a.weight",
                                       "blk.0.ssm_g_a.weight"};
  const auto separate = Fusion::kSeparate;
  for (const Mixer& mixer :
       std::vector<Mixer>{mla, fused, kda, mamba, ShortConv{.width = 72, .taps = 3},
                          Delta(KeyHeadOrder::kModulo, separate, separate),
                          Delta(KeyHeadOrder::kNeighbours, separate, Fusion::kFused),
                          Delta(KeyHeadOrder::kNeighbours, Fusion::kFused, Fusion::kFused)}) {
    const Network network = NetworkOfMixer(mixer);
    EXPECT_EQ(Replicated(network), std::holds_alternative<Kda>(mixer) ? gates : none);
    for (const int ranks : {2, 3, 4}) {
      for (const auto& [name, rows] : Owners(network, ranks)) {
        EXPECT_EQ(rows, std::vector<int>(rows.size(), 1)) << name << ", " << ranks << " ranks";
      }
    }
  }
}

// 3 value heads of each of 4 key heads: 6 ranks have those of the first in two parts, of the second
// in one, and so on. Queries and keys of the first stand in two ranks.
TEST(Split, SharesAKeyHeadAmongMoreRanksThanThereAre) {
  for (const KeyHeadOrder order : {KeyHeadOrder::kModulo, KeyHeadOrder::kNeighbours}) {
    const Network whole = NetworkOfMixer(Delta(order, Fusion::kSeparate, Fusion::kSeparate));
    const auto owners = Owners(whole, 6);
    EXPECT_EQ(owners.at("blk.0.ssm_a"), std::vector<int>(12, 1));
    EXPECT_EQ(owners.at("blk.0.attn_gate.weight"), std::vector<int>(96, 1));
    const std::vector<int>& channels = owners.at("blk.0.attn_qkv.weight");
    for (const size_t key : {0u, 32u}) {
      EXPECT_EQ(channels.at(key), 2);
      EXPECT_EQ(channels.at(key + 8), 1);
    }
    EXPECT_EQ(channels.at(64), 1);
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
  const auto problem_of = [](Mixer mixer, int ranks) {
    Network network = NetworkOfMixer(std::move(mixer));
    return Split({.index = 0, .count = ranks}, &network).message();
  };
  EXPECT_EQ(problem_of(Mla{.width = 72, .heads = 2}, 3),
            "layer 0: 3 ranks share 2 heads of latent attention: expected fewer ranks");
  EXPECT_EQ(problem_of(ShortConv{.width = 40, .taps = 3}, 4),
            "layer 0: 4 ranks share 3 panels of a short convolution: expected fewer ranks");
  EXPECT_EQ(
      problem_of(Mamba2{.width = 72, .heads = 4, .groups = 2}, 5),
      "layer 0: 5 ranks share 4 heads of the state space, 2 of a group: expected fewer ranks");
  EXPECT_EQ(problem(normed, gated, 2), "");
  EXPECT_EQ(problem(normed, gated, 3),
            "layer 0: 3 ranks share 2 KV heads that are normed together: expected fewer ranks");
}

}  // namespace
}  // namespace skald::model
