// What a KV cache is, shown by breaking it (docs/worked-examples.md, examples 4 and 6): on the
// bundled model, through the real pages and kernels.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "base/check.h"
#include "kv/page_table.h"
#include "model/transformer.h"
#include "skald/model.h"
#include "tensor/half.h"

namespace skald {
namespace {

constexpr int64_t kContext = 320;

Model LoadBundled() {
  Result<Model> model =
      LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
  CHECK(model.ok());
  return *std::move(model);
}

// One sequence, greedy, whose pages can be tampered with between steps.
class Story {
 public:
  explicit Story(const Model& model)
      : model_(model),
        kernels_(kernels::TableFor(kernels::DetectIsa())),
        pool_(2),
        ropes_(model::RopeTablesOf(network().network(), kContext)),
        store_(*kv::KvStore::Create(model::KvLayoutOf(network().network(), kernels::KvType::kF16),
                                    kContext / 32)),
        workspace_(*model::Workspace::Create(network().network(),
                                             {.rows = kContext, .logit_rows = 1, .threads = 2})),
        page_pool_(kContext / 32),
        table_(&page_pool_, kContext) {
    CHECK(table_.Reserve(kContext));
  }

  // Computes more rows and returns the most likely next token.
  TokenId Append(const std::vector<TokenId>& tokens) {
    const auto count = static_cast<int64_t>(tokens.size());
    const model::SequenceRows rows{count, position_, table_.pages()};
    const auto last = static_cast<int32_t>(count - 1);
    network().Forward({.tokens = tokens, .sequences = {&rows, 1}, .logit_rows = {&last, 1}},
                      {.store = store_,
                       .workspace = workspace_,
                       .ropes = ropes_,
                       .execution = {kernels_, pool_}});
    position_ += count;
    const float* logits = workspace_.logits.row(0);
    logits_.assign(logits, logits + network().network().vocab);
    return static_cast<TokenId>(std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
  }

  // Greedy text of `count` tokens after the tokens given.
  std::vector<TokenId> Continue(std::vector<TokenId> tokens, int count) {
    std::vector<TokenId> text;
    for (int i = 0; i < count; ++i) {
      text.push_back(Append(tokens));
      tokens = {text.back()};
    }
    return text;
  }

  // Calls visit(view, position in page) for every layer and KV head.
  template <typename Visit>
  void ForEachHead(Visit visit) {
    const std::vector<kv::KvShape>& layers = store_.layout().layers;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      for (int64_t head = 0; head < layers[layer].kv_heads; ++head) {
        visit(store_.View(static_cast<int64_t>(layer), head, table_.pages()));
      }
    }
  }

  // Replaces the key of `position` by random values; the value stays.
  void OverwriteKey(int64_t position) {
    std::mt19937 random(1);
    ForEachHead([&](const kernels::PagedKv& view) {
      for (int i = 0; i < view.key_dim; ++i) {
        const float value = static_cast<float>(random() % 2001) * 1e-3f - 1.0f;
        const uint16_t half = tensor::HalfFromFloat(value);
        std::memcpy(KeyElement(view, position, i), &half, 2);
      }
    });
  }

  // Moves K and V of every position one further, as if each had been written one place too far.
  void ShiftByOne() {
    ForEachHead([&](const kernels::PagedKv& view) {
      for (int64_t position = position_; position > 0; --position) {
        for (int i = 0; i < view.key_dim; ++i) {
          std::memcpy(KeyElement(view, position, i), KeyElement(view, position - 1, i), 2);
        }
        std::memcpy(ValueRow(view, position), ValueRow(view, position - 1),
                    static_cast<size_t>(view.value_dim) * 2);
      }
    });
  }

  const std::vector<float>& logits() const { return logits_; }
  int64_t position() const { return position_; }

 private:
  const model::Transformer& network() const { return model_.transformer(); }

  static std::byte* KeyElement(const kernels::PagedKv& view, int64_t position, int index) {
    const int64_t in_page = position % 32;
    const int64_t element = (in_page / 16 * view.key_dim + index) * 16 + in_page % 16;
    return view.arena + view.pages[position / 32] * view.page_stride + view.key_offset +
           element * 2;
  }
  static std::byte* ValueRow(const kernels::PagedKv& view, int64_t position) {
    return view.arena + view.pages[position / 32] * view.page_stride + view.value_offset +
           position % 32 * kernels::PaddedValueDim(view.value_dim) * 2;
  }

  const Model& model_;
  kernels::KernelTable kernels_;
  ThreadPool pool_;
  std::vector<model::RopeTable> ropes_;
  kv::KvStore store_;
  model::Workspace workspace_;
  kv::PagePool page_pool_;
  kv::PageTable table_;
  int64_t position_ = 0;
  std::vector<float> logits_;
};

class BreakIt : public testing::Test {
 protected:
  BreakIt() : model_(LoadBundled()), prompt_(*model_.tokenizer().Encode("Once upon a time")) {}
  Model model_;
  std::vector<TokenId> prompt_;
};

// Number of leading tokens two texts share.
size_t SharedTokens(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

// Example 4: the cache saves work, not accuracy. Every logit has the same bits.
TEST_F(BreakIt, CachedAndUncachedGenerationAreTheSame) {
  Story cached(model_);
  std::vector<TokenId> tokens = prompt_;
  TokenId next = cached.Append(tokens);
  int64_t uncached_rows = 0;
  for (int i = 0; i < 60; ++i) {
    Story uncached(model_);
    ASSERT_EQ(uncached.Append(tokens), next) << "token " << i;
    ASSERT_EQ(uncached.logits(), cached.logits()) << "token " << i;
    uncached_rows += uncached.position();
    tokens.push_back(next);
    next = cached.Append({next});
  }
  const auto n = static_cast<int64_t>(prompt_.size());
  EXPECT_EQ(cached.position(), n + 60);
  EXPECT_EQ(uncached_rows, 60 * n + 60 * 59 / 2);
}

// Example 6: one wrong key in the middle, after 100 tokens.
TEST_F(BreakIt, OneOverwrittenKeyChangesEverythingAfterIt) {
  Story sound(model_);
  Story broken(model_);
  const std::vector<TokenId> text = sound.Continue(prompt_, 100);
  ASSERT_EQ(broken.Continue(prompt_, 100), text);
  ASSERT_EQ(broken.logits(), sound.logits());
  broken.OverwriteKey(50);
  const std::vector<TokenId> after_sound = sound.Continue({text.back()}, 100);
  const std::vector<TokenId> after_broken = broken.Continue({text.back()}, 100);
  EXPECT_NE(broken.logits(), sound.logits());
  std::printf("one key overwritten: the text agrees for %zu of 100 tokens\n",
              SharedTokens(after_sound, after_broken));
}

// Example 6: everything is there, one place too far. Close at first, then another story.
TEST_F(BreakIt, AShiftedCacheTellsAnotherStory) {
  Story sound(model_);
  Story shifted(model_);
  const std::vector<TokenId> text = sound.Continue(prompt_, 100);
  ASSERT_EQ(shifted.Continue(prompt_, 100), text);
  shifted.ShiftByOne();
  const std::vector<TokenId> after_sound = sound.Continue({text.back()}, 100);
  const std::vector<TokenId> after_shifted = shifted.Continue({text.back()}, 100);
  EXPECT_NE(shifted.logits(), sound.logits());
  std::printf("shifted by one: the text agrees for %zu of 100 tokens\n",
              SharedTokens(after_sound, after_shifted));
}

// The control: tampering with a position that is never read changes nothing.
TEST_F(BreakIt, PositionsAfterTheEndAreNeverRead) {
  Story sound(model_);
  Story touched(model_);
  const std::vector<TokenId> text = sound.Continue(prompt_, 40);
  ASSERT_EQ(touched.Continue(prompt_, 40), text);
  touched.OverwriteKey(touched.position() + 1);
  ASSERT_EQ(touched.Append({text.back()}), sound.Append({text.back()}));
  EXPECT_EQ(touched.logits(), sound.logits());
}

}  // namespace
}  // namespace skald
