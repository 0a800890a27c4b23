// What a KV cache is, shown by breaking it (docs/worked-examples.md, examples 4 and 6): on the
// bundled model, through the real pages and kernels, which are lied to (src/lab/lie.h).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/check.h"
#include "lab/reading.h"
#include "lab/scores.h"
#include "skald/model.h"

namespace skald {
namespace {

constexpr int64_t kContext = 320;

Model LoadBundled() {
  Result<Model> model =
      LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
  CHECK(model.ok());
  return *std::move(model);
}

// One sequence, greedy, computed by two threads.
class Story {
 public:
  explicit Story(const Model& model, const lab::Lie& lie = {})
      : reading_(*lab::Reading::Create(model.transformer(),
                                       {.kernels = kernels::TableFor(kernels::DetectIsa()),
                                        .threads = std::make_shared<ThreadPool>(2)},
                                       kContext, lie)) {}

  // Computes more rows and returns the most likely next token.
  TokenId Append(const std::vector<TokenId>& tokens) {
    reading_.Append(tokens,
                    [this](std::span<const float> row) { logits_.assign(row.begin(), row.end()); });
    return lab::Likeliest(logits_);
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

  const std::vector<float>& logits() const { return logits_; }
  int64_t position() const { return reading_.position(); }

 private:
  lab::Reading reading_;
  std::vector<float> logits_;
};

class BreakIt : public testing::Test {
 protected:
  BreakIt() : model_(LoadBundled()), prompt_(*model_.tokenizer().Encode("Once upon a time")) {}

  // The position behind `count` tokens of an answer, of which the last was not computed.
  int64_t Behind(int64_t count) const { return std::ssize(prompt_) + count - 1; }

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
  Story broken(model_, {.from = Behind(100), .wrong_key = 50});
  const std::vector<TokenId> text = sound.Continue(prompt_, 100);
  ASSERT_EQ(broken.Continue(prompt_, 100), text);
  ASSERT_EQ(broken.logits(), sound.logits());
  const std::vector<TokenId> after_sound = sound.Continue({text.back()}, 100);
  const std::vector<TokenId> after_broken = broken.Continue({text.back()}, 100);
  EXPECT_NE(broken.logits(), sound.logits());
  std::printf("one key overwritten: the text agrees for %zu of 100 tokens\n",
              SharedTokens(after_sound, after_broken));
}

// Example 6: everything is there, one place too far. Close at first, then another story.
TEST_F(BreakIt, AShiftedCacheTellsAnotherStory) {
  Story sound(model_);
  Story shifted(model_, {.from = Behind(100), .write_shift = 1});
  const std::vector<TokenId> text = sound.Continue(prompt_, 100);
  ASSERT_EQ(shifted.Continue(prompt_, 100), text);
  const std::vector<TokenId> after_sound = sound.Continue({text.back()}, 100);
  const std::vector<TokenId> after_shifted = shifted.Continue({text.back()}, 100);
  EXPECT_NE(shifted.logits(), sound.logits());
  std::printf("shifted by one: the text agrees for %zu of 100 tokens\n",
              SharedTokens(after_sound, after_shifted));
}

// The control: tampering with a position that is never read changes nothing.
TEST_F(BreakIt, PositionsAfterTheEndAreNeverRead) {
  Story sound(model_);
  Story touched(model_, {.from = Behind(40), .wrong_key = Behind(40) + 1});
  const std::vector<TokenId> text = sound.Continue(prompt_, 40);
  ASSERT_EQ(touched.Continue(prompt_, 40), text);
  ASSERT_EQ(touched.Append({text.back()}), sound.Append({text.back()}));
  EXPECT_EQ(touched.logits(), sound.logits());
}

}  // namespace
}  // namespace skald
