// Worked examples from the literature, through the real kernels and pages: docs/worked-examples.md
// walks through them. Where a printed number does not follow from the printed inputs, the test
// holds ours and says why.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "kernels/attention/paged_cache_for_test.h"
#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

using Matrix = std::vector<std::vector<float>>;

// Printed numbers have three decimals.
constexpr double kPrinted = 6e-4;

void ExpectNear(const std::vector<float>& got, const std::vector<double>& expected,
                double tolerance = kPrinted) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

class WorkedExample : public testing::TestWithParam<Isa> {
 protected:
  WorkedExample() : table_(TableFor(GetParam())) {}

  // x times the transposed weights: one output column per row of `weights`. Float panels.
  Matrix Multiply(const Matrix& weights, const Matrix& x) const {
    const int64_t cols = static_cast<int64_t>(x[0].size());
    const int rows = static_cast<int>(weights.size());
    CHECK(rows <= kPanelRows);
    std::vector<float> flat;
    for (const std::vector<float>& row : weights) flat.insert(flat.end(), row.begin(), row.end());
    Result<AlignedBuffer> panel =
        AlignedBuffer::Create(static_cast<uint64_t>(PanelBytes(PanelType::kF32, cols)));
    CHECK(panel.ok());
    PackPanel(tensor::DType::kF32, std::as_bytes(std::span(flat)), rows, cols, panel->data());
    Matrix y;
    for (const std::vector<float>& token : x) {
      alignas(64) std::byte tile[1024];
      CHECK(ActivationBytes(ActivationFormat::kF32, cols) <= static_cast<int64_t>(sizeof(tile)));
      table_.quantize[static_cast<size_t>(ActivationFormat::kF32)](
          {token.data(), cols, 1, cols, tile});
      float out[kPanelRows];
      table_.matmul[static_cast<size_t>(PanelType::kF32)]({.panels = panel->data(),
                                                           .panel_count = 1,
                                                           .cols = cols,
                                                           .tiles = tile,
                                                           .tokens = 1,
                                                           .out = out,
                                                           .out_stride = kPanelRows,
                                                           .scratch = nullptr});
      y.emplace_back(out, out + rows);
    }
    return y;
  }

  // The outputs of the tokens whose queries these are, the first at `first_position`.
  Matrix Attend(PagedCacheForTest& cache, const Matrix& queries, int64_t first_position) const {
    const int key_dim = cache.kv().key_dim;
    const int value_dim = cache.kv().value_dim;
    ScratchForTest scratch(key_dim, value_dim, 1);
    std::vector<float> flat;
    for (const std::vector<float>& q : queries) flat.insert(flat.end(), q.begin(), q.end());
    std::vector<float> out(queries.size() * static_cast<size_t>(value_dim));
    AttentionArgs args;
    args.kv = cache.kv();
    args.query = flat.data();
    args.query_stride = key_dim;
    args.out = out.data();
    args.out_stride = value_dim;
    args.tokens = static_cast<int64_t>(queries.size());
    args.first_position = first_position;
    args.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(key_dim)));
    args.scratch = scratch.data();
    table_.attention(args);
    Matrix rows;
    for (auto row = out.begin(); row != out.end(); row += value_dim) {
      rows.emplace_back(row, row + value_dim);
    }
    return rows;
  }

  // The attention weights themselves: attention over values that are unit vectors.
  Matrix Weights(const Matrix& queries, const Matrix& keys) const {
    const int n = static_cast<int>(keys.size());
    PagedCacheForTest cache(KvType::kF32, static_cast<int>(keys[0].size()), n, n);
    for (int t = 0; t < n; ++t) {
      std::vector<float> unit(static_cast<size_t>(n), 0.0f);
      unit[static_cast<size_t>(t)] = 1.0f;
      cache.Append(GetParam(), t, keys[static_cast<size_t>(t)], unit);
    }
    return Attend(cache, queries, n - static_cast<int64_t>(queries.size()));
  }

  KernelTable table_;
};
INSTANTIATE_TEST_SUITE_P(Isas, WorkedExample, testing::ValuesIn(TestedIsas()), IsaTestName);

// ---------------------------------------------------------------------------------------------
// Example 1: "I love" -> "AI". Embeddings plus positions, two heads of two dimensions.

const Matrix kILove = {{0.8f, 1.3f, -0.2f, 1.5f}, {1.2f, 1.1f, 0.8f, 0.7f}};
const Matrix kHead1QueryWeights = {{0.2f, 0.1f, 0.3f, 0.4f}, {0.3f, 0.4f, 0.2f, 0.1f}};
const Matrix kHead1Keys = {{0.73f, 1.31f}, {0.93f, 1.15f}};
const Matrix kHead1Values = {{1.37f, 0.79f}, {1.19f, 0.95f}};

TEST_P(WorkedExample, ILoveHead1) {
  const Matrix queries = Multiply(kHead1QueryWeights, kILove);
  ExpectNear(queries[0], {0.83, 0.87}, 1e-6);
  ExpectNear(queries[1], {0.87, 1.03}, 1e-6);

  const Matrix weights = Weights(queries, kHead1Keys);
  ExpectNear(weights[0], {1.0, 0.0});
  ExpectNear(weights[1], {0.498, 0.502});

  PagedCacheForTest cache(KvType::kF32, 2, 2, 2);
  for (size_t t = 0; t < 2; ++t) {
    cache.Append(GetParam(), static_cast<int64_t>(t), kHead1Keys[t], kHead1Values[t]);
  }
  const Matrix out = Attend(cache, queries, 0);
  ExpectNear(out[0], {1.370, 0.790});
  // Printed as 1.279, which is 1.2797 cut off instead of rounded.
  ExpectNear(out[1], {1.280, 0.870});
}

TEST_P(WorkedExample, ILoveCacheHoldsEightNumbersForAHead) {
  // Two tokens, a key and a value of two numbers each: 8. The book says six.
  PagedCacheForTest cache(KvType::kF32, 2, 2, 2);
  const std::vector<std::byte> before = cache.bytes();
  for (size_t t = 0; t < 2; ++t) {
    cache.Append(GetParam(), static_cast<int64_t>(t), kHead1Keys[t], kHead1Values[t]);
  }
  int numbers = 0;
  for (size_t i = 0; i < before.size(); i += 4) {
    float value;
    std::memcpy(&value, cache.bytes().data() + i, 4);
    // What is not written is NaN; the padding of the two V rows is written as zero.
    if (!std::isnan(value) && value != 0.0f) ++numbers;
  }
  EXPECT_EQ(numbers, 8);
}

TEST_P(WorkedExample, ILoveHead2PrintedWeightsDoNotFollowFromItsQueriesAndKeys) {
  const Matrix queries = {{0.81f, 0.93f}, {1.02f, 0.89f}};
  const Matrix keys = {{0.95f, 1.28f}, {1.08f, 1.03f}};
  const Matrix values = {{1.28f, 0.92f}, {1.15f, 1.07f}};
  // Printed: [.503, .497] and the output [1.215, .994]. But 1.02 * .95 + .89 * 1.28 = 2.108 and
  // 1.02 * 1.08 + .89 * 1.03 = 2.018; divided by sqrt 2 they differ by .0636, which is [.516,
  // .484].
  ExpectNear(Weights(queries, keys)[1], {0.516, 0.484});
  PagedCacheForTest cache(KvType::kF32, 2, 2, 2);
  for (size_t t = 0; t < 2; ++t) {
    cache.Append(GetParam(), static_cast<int64_t>(t), keys[t], values[t]);
  }
  ExpectNear(Attend(cache, queries, 0)[1], {1.217, 0.993});
}

TEST_P(WorkedExample, ILoveLogitsGiveAI) {
  // Softmax is attention with one key dimension, query 1, and unit vectors as values.
  const Matrix logits = {{0.933f}, {1.002f}, {0.919f}, {1.272f}, {0.933f}};
  const std::vector<float> probabilities = Weights({{1.0f}}, logits)[0];
  ExpectNear(probabilities, {0.183, 0.196, 0.181, 0.257, 0.183});
  const std::vector<std::string> words = {"PAD", "I", "love", "AI", "EOS"};
  const auto best = std::max_element(probabilities.begin(), probabilities.end());
  EXPECT_EQ(words[static_cast<size_t>(best - probabilities.begin())], "AI");
}

TEST_P(WorkedExample, ILoveDecodeComputesOneRowAndItIsTheRowOfTheWholePrompt) {
  // "AI" follows: x = E[3] + PE[2]. The book gives no key and value for it; any will do here.
  Matrix x = kILove;
  x.push_back({1.4f, -0.8f, 0.8f, 1.8f});
  const Matrix queries = Multiply(kHead1QueryWeights, x);
  PagedCacheForTest cache(KvType::kF32, 2, 2, 3);
  for (size_t t = 0; t < 2; ++t) {
    cache.Append(GetParam(), static_cast<int64_t>(t), kHead1Keys[t], kHead1Values[t]);
  }
  cache.Append(GetParam(), 2, {0.5f, 0.25f}, {0.125f, 2.0f});
  const Matrix whole = Attend(cache, queries, 0);            // 1 + 2 + 3 = 6 products q.k
  const Matrix decode = Attend(cache, {queries.back()}, 2);  // 3 products
  EXPECT_EQ(decode[0], whole[2]);
}

// ---------------------------------------------------------------------------------------------
// Example 2: four heads over "Today weather is so", values 10, 20, 1, 5. Keys are 64 times +1 or
// -1, queries 64 times 1, so a score is +8 or -8 and the weights are even over the +8, to e^-16.

constexpr size_t kHeads = 4;
enum Head : size_t { kEven, kLast, kFirst, kAll };

// What head `head` says of position t (from 0) when `length` words are known.
bool Attends(size_t head, int64_t t, int64_t length) {
  switch (head) {
    case kEven: return t % 2 == 1;  // the tutorial counts from 1
    case kLast: return t == length - 1;
    case kFirst: return t == 0;
    default: return true;
  }
}

class Weather {
 public:
  explicit Weather(Isa isa) : isa_(isa) {
    for (size_t head = 0; head < kHeads; ++head) {
      caches_.push_back(std::make_unique<PagedCacheForTest>(KvType::kF32, 64, 1, 5));
    }
  }

  // Writes word t as each head sees it when `length` words are known.
  void Append(int64_t t, int64_t length) {
    constexpr float kValues[] = {10, 20, 1, 5, 7};
    for (size_t head = 0; head < kHeads; ++head) {
      const float sign = Attends(head, t, length) ? 1.0f : -1.0f;
      caches_[head]->Append(isa_, t, std::vector<float>(64, sign), {kValues[t]});
    }
  }
  PagedCacheForTest& cache(size_t head) { return *caches_[head]; }

 private:
  Isa isa_;
  std::vector<std::unique_ptr<PagedCacheForTest>> caches_;
};

const std::vector<float> kOnes(64, 1.0f);

TEST_P(WorkedExample, WeatherContextsAndLogits) {
  Weather weather(GetParam());
  for (int64_t t = 0; t < 4; ++t) weather.Append(t, 4);
  const std::vector<std::vector<double>> expected = {
      {10, 20, 20, 12.5}, {10, 15, 10.333, 5}, {10, 10, 10, 10}, {10, 15, 10.333, 9}};
  Matrix context = {{}};
  for (size_t head = 0; head < kHeads; ++head) {
    const Matrix out = Attend(weather.cache(head), Matrix(4, kOnes), 0);
    ExpectNear({out[0][0], out[1][0], out[2][0], out[3][0]}, expected[head]);
    context[0].push_back(out[3][0]);
  }
  const Matrix columns = {{0.8f, 0.5f, 0.1f, 0.2f},   // nice
                          {0.6f, 0.4f, 0.2f, 0.3f},   // warm
                          {0.1f, 0.2f, 0.5f, 0.1f}};  // delicious
  ExpectNear(Multiply(columns, context)[0], {15.3, 14.2, 8.15});
}

TEST_P(WorkedExample, WeatherAHeadThatAsksWhoIsLastCannotBeCached) {
  // Without a cache every key is made anew, knowing all five words.
  Weather anew(GetParam());
  for (int64_t t = 0; t < 5; ++t) anew.Append(t, 5);
  // With a cache the first four keys are as they were when four words were known.
  Weather cached(GetParam());
  for (int64_t t = 0; t < 4; ++t) cached.Append(t, 4);
  cached.Append(4, 5);
  std::vector<float> without;
  std::vector<float> with;
  for (size_t head = 0; head < kHeads; ++head) {
    without.push_back(Attend(anew.cache(head), {kOnes}, 4)[0][0]);
    with.push_back(Attend(cached.cache(head), {kOnes}, 4)[0][0]);
  }
  // The tutorial prints both and calls them identical. They are not: "so" still says that it is
  // last, and the second head averages 5 and 7.
  ExpectNear(without, {12.5, 7, 10, 8.6});
  ExpectNear(with, {12.5, 6, 10, 8.6});
}

// ---------------------------------------------------------------------------------------------
// Example 4: token passes with and without a cache, on a toy: one head of 16 dimensions, one layer,
// 16 words, random weights, the kernels of a real model.

class Toy {
 public:
  static constexpr int kDim = 16;
  using Multiplier = std::function<Matrix(const Matrix& weights, const Matrix& x)>;
  using Attender =
      std::function<Matrix(PagedCacheForTest& cache, const Matrix& queries, int64_t first)>;

  Toy(const KernelTable& table, Multiplier multiply, Attender attend)
      : table_(table), multiply_(std::move(multiply)), attend_(std::move(attend)) {
    std::mt19937 random(11);
    for (Matrix* weights : {&embedding_, &query_, &key_, &value_, &head_}) {
      *weights = Matrix(kDim, std::vector<float>(kDim));
      for (auto& row : *weights) {
        for (float& w : row) w = static_cast<float>(random() % 2001) * 1e-3f - 1.0f;
      }
    }
  }

  // Passes `tokens` from `first` on through the layer, leaves their K and V in the cache, and
  // returns the logits of the last.
  std::vector<float> Forward(PagedCacheForTest& cache, const std::vector<int>& tokens,
                             int64_t first) {
    Matrix x;
    for (const int token : tokens) x.push_back(Normalized(embedding_[static_cast<size_t>(token)]));
    Matrix queries = multiply_(query_, x);
    Matrix keys = multiply_(key_, x);
    const Matrix values = multiply_(value_, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t position = first + static_cast<int64_t>(i);
      Rotate(queries[i], position);
      Rotate(keys[i], position);
      cache.Append(*FindIsa(table_.isa_name), position, keys[i], values[i]);
    }
    std::vector<float> last = attend_(cache, queries, first).back();
    table_.add(x.back().data(), last.data(), kDim);
    passes_ += static_cast<int64_t>(tokens.size());
    return multiply_(head_, {Normalized(last)})[0];
  }

  int64_t passes() const { return passes_; }

 private:
  std::vector<float> Normalized(const std::vector<float>& x) const {
    const std::vector<float> ones(kDim, 1.0f);
    std::vector<float> y(kDim);
    table_.rms_norm({x.data(), kDim, ones.data(), y.data(), kDim, 1, kDim, 1e-5f});
    return y;
  }
  void Rotate(std::vector<float>& head, int64_t position) const {
    std::vector<float> cosine;
    std::vector<float> sine;
    for (int i = 0; i < kDim / 2; ++i) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -2.0 * i / kDim);
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
    table_.rope({head.data(), 1, kDim, kDim, cosine.data(), sine.data(), RopePairing::kHalves});
  }

  const KernelTable& table_;
  Multiplier multiply_;
  Attender attend_;
  Matrix embedding_, query_, key_, value_, head_;
  int64_t passes_ = 0;
};

struct Generated {
  std::vector<int> tokens;
  Matrix logits;
  int64_t passes = 0;
};

// `count` greedy tokens after `prompt`: with a cache, or by passing everything again each time.
enum class Cache { kKept, kNone };
Generated Generate(Toy toy, const std::vector<int>& prompt, int count, Cache mode) {
  const int64_t room = static_cast<int64_t>(prompt.size()) + count;
  PagedCacheForTest kept(KvType::kF16, Toy::kDim, Toy::kDim, room);
  Generated result;
  std::vector<int> all = prompt;
  std::vector<int> next = prompt;
  for (int i = 0; i < count; ++i) {
    PagedCacheForTest fresh(KvType::kF16, Toy::kDim, Toy::kDim, room);
    const int64_t first = static_cast<int64_t>(all.size() - next.size());
    result.logits.push_back(mode == Cache::kKept ? toy.Forward(kept, next, first)
                                                 : toy.Forward(fresh, all, 0));
    const auto best = std::max_element(result.logits.back().begin(), result.logits.back().end());
    next = {static_cast<int>(best - result.logits.back().begin())};
    all.push_back(next[0]);
    result.tokens.push_back(next[0]);
  }
  result.passes = toy.passes();
  return result;
}

// Token passes of `count` new tokens after a prompt: each new token follows a pass of everything
// before it, or of what is not in the cache yet.
int64_t PassesWithoutCache(int64_t prompt, int64_t count) {
  return prompt * count + count * (count - 1) / 2;
}
int64_t PassesWithCache(int64_t prompt, int64_t count) { return prompt + count - 1; }

TEST_P(WorkedExample, GreedyTokensAreTheSameWithAndWithoutACache) {
  const Toy toy(
      table_, [this](const Matrix& w, const Matrix& x) { return Multiply(w, x); },
      [this](PagedCacheForTest& c, const Matrix& q, int64_t f) { return Attend(c, q, f); });
  const std::vector<int> prompt = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
  const Generated cached = Generate(toy, prompt, 40, Cache::kKept);
  const Generated anew = Generate(toy, prompt, 40, Cache::kNone);
  EXPECT_EQ(cached.tokens, anew.tokens);
  EXPECT_EQ(cached.logits, anew.logits) << "not only the tokens: every bit of every logit";
  EXPECT_EQ(anew.passes, PassesWithoutCache(20, 40));
  EXPECT_EQ(cached.passes, PassesWithCache(20, 40));
}

TEST(WorkedExampleArithmetic, TokenPassesWithAndWithoutACache) {
  // 500 + 1000: "about 1 M against 1500, 667 times".
  EXPECT_EQ(PassesWithoutCache(500, 1000), 999'500);
  EXPECT_EQ(PassesWithCache(500, 1000), 1'499);
  EXPECT_NEAR(999'500.0 / 1'499.0, 667, 0.5);
  // 512 + 512: printed as about 786,000 against about 1,500. The sum of 512 .. 1023 is half of the
  // first, and every token but the last passes once with a cache.
  EXPECT_EQ(PassesWithoutCache(512, 512), 392'960);
  EXPECT_EQ(PassesWithCache(512, 512), 1'023);
}

// ---------------------------------------------------------------------------------------------
// Example 6: break it. One head with RoPE decodes 100 tokens; from token 60 on something is wrong.

enum class Breakage {
  kNone,
  kOverwriteAKey,   // one cached key in the middle becomes random
  kShiftedWrite,    // K and V go to position + 1
  kForgottenCache,  // a step starts from an empty cache
  kSeesTheFuture,   // a row sees one position too many
  kSharedCache,     // another request writes over position 30
  kWrongRotation,   // the key is rotated for position + 1
};
constexpr int64_t kSteps = 100;
constexpr int64_t kBroken = 60;

class BrokenCacheTest : public testing::TestWithParam<Isa> {
 protected:
  static constexpr int kDim = 16;

  static void Rotate(Isa isa, std::vector<float>& head, int64_t position) {
    std::vector<float> cosine;
    std::vector<float> sine;
    for (int i = 0; i < kDim / 2; ++i) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -2.0 * i / kDim);
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
    TableFor(isa).rope(
        {head.data(), 1, kDim, kDim, cosine.data(), sine.data(), RopePairing::kAdjacent});
  }

  static std::vector<float> Random(std::mt19937& random) {
    std::vector<float> x(kDim);
    for (float& value : x) value = static_cast<float>(random() % 2001) * 1e-3f - 1.0f;
    return x;
  }

  // The output of every step.
  static Matrix Decode(Isa isa, Breakage breakage) {
    PagedCacheForTest cache(KvType::kF16, kDim, kDim, kSteps + 1);
    // A page of a real engine holds old numbers, not NaN.
    for (int64_t t = 0; t <= kSteps; ++t) {
      cache.Append(isa, t, std::vector<float>(kDim, 0.5f), std::vector<float>(kDim, 0.5f));
    }
    ScratchForTest scratch(kDim, kDim, 1);
    std::mt19937 random(3);
    std::mt19937 other(4);
    Matrix outputs;
    for (int64_t t = 0; t < kSteps; ++t) {
      std::vector<float> query = Random(random);
      std::vector<float> key = Random(random);
      const std::vector<float> value = Random(random);
      const Breakage now = t >= kBroken ? breakage : Breakage::kNone;
      Rotate(isa, query, t);
      Rotate(isa, key, now == Breakage::kWrongRotation ? t + 1 : t);
      cache.Append(isa, now == Breakage::kShiftedWrite ? t + 1 : t, key, value);
      if (now == Breakage::kOverwriteAKey && t == kBroken) {
        cache.Append(isa, kBroken / 2, Random(other), Stored(cache, kBroken / 2));
      }
      if (now == Breakage::kSharedCache && t == kBroken) {
        cache.Append(isa, kBroken / 2, Random(other), Random(other));
      }
      std::vector<float> out(kDim);
      AttentionArgs args;
      args.kv = cache.kv();
      args.query = query.data();
      args.out = out.data();
      args.tokens = 1;
      args.first_position = now == Breakage::kSeesTheFuture ? t + 1 : t;
      args.window = now == Breakage::kForgottenCache ? 1 : 0;
      args.scale = 0.25f;
      args.scratch = scratch.data();
      TableFor(isa).attention(args);
      outputs.push_back(out);
    }
    return outputs;
  }

  // The value at `position` as the cache holds it.
  static std::vector<float> Stored(const PagedCacheForTest& cache, int64_t position) {
    const PagedKv& kv = cache.kv();
    const std::byte* row = kv.arena + kv.pages[position / kPageTokens] * kv.page_stride +
                           kv.value_offset + position % kPageTokens * 2 * kDim;
    std::vector<float> value;
    for (int d = 0; d < kDim; ++d) {
      uint16_t bits;
      std::memcpy(&bits, row + 2 * d, 2);
      value.push_back(tensor::FloatFromHalf(bits));
    }
    return value;
  }
};
INSTANTIATE_TEST_SUITE_P(Isas, BrokenCacheTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(BrokenCacheTest, WhatIsNotBrokenGivesTheSameBitsAgain) {
  EXPECT_EQ(Decode(GetParam(), Breakage::kNone), Decode(GetParam(), Breakage::kNone));
}

TEST_P(BrokenCacheTest, EveryBreakageChangesLaterOutputsAndNoEarlierOne) {
  const Matrix right = Decode(GetParam(), Breakage::kNone);
  for (const Breakage breakage :
       {Breakage::kOverwriteAKey, Breakage::kShiftedWrite, Breakage::kForgottenCache,
        Breakage::kSeesTheFuture, Breakage::kSharedCache, Breakage::kWrongRotation}) {
    const Matrix wrong = Decode(GetParam(), breakage);
    for (size_t t = 0; t < kBroken; ++t)
      EXPECT_EQ(wrong[t], right[t]) << static_cast<int>(breakage);
    for (size_t t = kBroken; t < kSteps; ++t) {
      EXPECT_NE(wrong[t], right[t]) << static_cast<int>(breakage) << " at " << t;
    }
  }
}

TEST_P(BrokenCacheTest, OneWrongKeyIsASmallErrorAndAForgottenCacheALargeOne) {
  // Why a broken cache is hard to see: one key in 61 moves an output by a few percent.
  const Matrix right = Decode(GetParam(), Breakage::kNone);
  const auto error = [&right](const Matrix& wrong) {
    double difference = 0;
    for (size_t d = 0; d < kDim; ++d) {
      difference = std::max<double>(difference, std::abs(wrong[kBroken][d] - right[kBroken][d]));
    }
    return difference;
  };
  EXPECT_LT(error(Decode(GetParam(), Breakage::kOverwriteAKey)), 0.1);
  EXPECT_GT(error(Decode(GetParam(), Breakage::kForgottenCache)), 0.5);
}

}  // namespace
}  // namespace skald::kernels
