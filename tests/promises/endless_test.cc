// Texts without an end: promise 1 on the forward pass (same_answer_test.cc), and what an endless
// text has in common with any other.

#include "model/endless.h"

#include <gtest/gtest.h>

#include "promises/any_schedule.h"
#include "support/random_model.h"

namespace skald {
namespace {

using promises::CheckNetwork;
using promises::Logits;
using promises::RandomPrompts;
using promises::RunAll;

// The first ones, rows that see all before them and rows that do not in one chunk, sinks of heads
// beside pinned positions, and norms of whole rows.
TEST(Promise1, HoldsForEndlessTexts) {
  for (const Endless& endless :
       {Endless{4, 60}, Endless{33, 7}, Endless{0, 40}, Endless{256, 20}}) {
    CheckNetwork({.dtype = tensor::DType::kQ8_0,
                  .embedding = 64,
                  .change =
                      [&](model::Network& network) {
                        auto& first = std::get<model::Gqa>(network.layers[0].mixer);
                        first.sinks = model::Sinks::kOnePerHead;
                        first.head_norm = model::HeadNorm::kRmsOfRow;
                        first.norm_epsilon = 1e-5f;
                        EXPECT_TRUE(model::MakeEndless(endless, &network).ok());
                      }},
                 {300, 36, 1});
  }
}

TEST(Promise1, HoldsForEndlessTextsOfLatents) {
  CheckNetwork({.family = "deepseek2",
                .dtype = tensor::DType::kQ8_0,
                .embedding = 96,
                .heads = 3,
                .kv_heads = 1,
                .head_dim = 64,
                .feed_forward = 64,
                .experts = 12,
                .used_experts = 3,
                .latent_rank = 32,
                .change =
                    [](model::Network& network) {
                      const Endless endless = {.sinks = 4, .window = 60};
                      EXPECT_TRUE(model::MakeEndless(endless, &network).ok());
                    }},
               {300, 36, 1});
}

// Before anything is left out, an endless text has the bits of any other.
TEST(Promise1, EndlessTextsBeginAsOthersDo) {
  const support::RandomModelSpec plain = {.embedding = 64};
  support::RandomModelSpec endless = plain;
  endless.change = [](model::Network& network) {
    EXPECT_TRUE(model::MakeEndless({.sinks = 4, .window = 60}, &network).ok());
  };
  const auto prompts = RandomPrompts({90}, plain.vocab);
  const Logits expected = RunAll(support::MakeRandomModel(plain), {}, {}, prompts).front();
  const Logits found = RunAll(support::MakeRandomModel(endless), {}, {}, prompts).front();
  for (size_t position = 0; position < expected.size(); ++position) {
    EXPECT_EQ(found[position] == expected[position], position < 64) << position;
  }
}

}  // namespace
}  // namespace skald
