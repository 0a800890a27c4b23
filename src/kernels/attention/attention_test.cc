#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/attention/attention_weights.h"
#include "kernels/attention/paged_cache_for_test.h"
#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

constexpr float kPoison = -54321.0f;

struct Shape {
  KvTypes types = {};
  int key_dim = 64;
  int value_dim = 64;
  int group = 1;
  int64_t tokens = 1;
  int64_t first_position = 0;
  int64_t window = 0;
  float soft_cap = 0;
  bool sinks = false;
  int64_t chunk = 0;
  ValuePlace place = ValuePlace::kOwn;
  bool equal_parts = false;  // values are the first elements of keys, wherever they lie
  int64_t ahead = -1;        // tokens behind those of the call that these see; -1: causal
  bool slopes = false;
  int64_t pinned = 0;

  // Of the text.
  int64_t length() const { return first_position + tokens + std::max<int64_t>(ahead, 0); }
  /// The first position that the token at `position` sees.
  int64_t first_seen(int64_t position) const {
    const int64_t in_chunk = chunk == 0 ? 0 : position - position % chunk;
    return window == 0 ? in_chunk : std::max<int64_t>(in_chunk, position - window + 1);
  }
  /// The first behind the last.
  int64_t end_seen(int64_t position) const {
    if (ahead < 0) return position + 1;
    return window == 0 ? length() : std::min(length(), position + window);
  }
  bool Sees(int64_t position, int64_t t) const {
    return t < pinned || (t >= first_seen(position) && t < end_seen(position));
  }
};

std::string NameOf(KvType type) {
  switch (type) {
    case KvType::kF16: return "f16";
    case KvType::kBF16: return "bf16";
    case KvType::kF32: return "f32";
    case KvType::kQ8: return "q8";
    case KvType::kQ4: return "q4";
  }
  return "?";
}

std::string Describe(const Shape& s) {
  return NameOf(s.types.keys) + "," + NameOf(s.types.values) + " key " + std::to_string(s.key_dim) +
         " value " + std::to_string(s.value_dim) + " group " + std::to_string(s.group) +
         " tokens " + std::to_string(s.tokens) + " first " + std::to_string(s.first_position) +
         " window " + std::to_string(s.window) + " chunk " + std::to_string(s.chunk) + " ahead " +
         std::to_string(s.ahead) + " pinned " + std::to_string(s.pinned);
}

std::vector<float> RandomFloats(int64_t n, float magnitude, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-magnitude, magnitude);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = uniform(random);
  return values;
}

// A sequence whose cache holds exactly the positions that some token of the shape sees; everything
// else (earlier and later pages, the rest of the last page, the padding of V) is NaN or missing.
class Sequence {
 public:
  explicit Sequence(const Shape& shape)
      : shape_(shape),
        cache_(shape.types, shape.key_dim, shape.value_dim, shape.length(), 1, shape.place),
        scratch_(shape.key_dim, shape.value_dim, shape.group) {
    std::mt19937 random(7);
    queries_ = RandomFloats(shape.tokens * query_stride(), 2.0f, random);
    pinned_queries_ = RandomFloats(shape.tokens * query_stride(), 2.0f, random);
    sinks_ = RandomFloats(shape.group, 2.0f, random);
    for (int head = 0; head < shape.group; ++head)
      slopes_.push_back(0.3f / static_cast<float>(head + 1));
    const int64_t first_seen = shape.first_seen(shape.first_position);
    const int64_t end_seen = shape.end_seen(shape.first_position + shape.tokens - 1);
    for (int64_t t = 0; t < shape.length(); ++t) {
      keys_.push_back(RandomFloats(shape.key_dim, 1.0f, random));
      values_.push_back(RandomFloats(shape.value_dim, 1.0f, random));
      if (shape.equal_parts) {
        std::copy_n(keys_.back().begin(), shape.value_dim, values_.back().begin());
      }
      if (t >= shape.pinned && (t < first_seen || t >= end_seen)) continue;
      cache_.Append(ScalarIsa(), t, keys_.back(), values_.back());
      cache_.PoisonPadding(t);
    }
    for (int64_t t = 0; t + kPageTokens <= first_seen; t += kPageTokens) {
      if (t >= shape.pinned) cache_.DropPage(t);
    }
    const int64_t unseen = (end_seen + kPageTokens - 1) / kPageTokens * kPageTokens;
    for (int64_t t = unseen; t < shape.length(); t += kPageTokens) cache_.DropPage(t);
  }

  int64_t query_stride() const { return shape_.group * shape_.key_dim + 3; }
  int64_t out_stride() const { return shape_.group * shape_.value_dim + 5; }
  PagedCacheForTest& cache() { return cache_; }
  const std::vector<std::vector<float>>& keys() const { return keys_; }
  const std::vector<std::vector<float>>& values() const { return values_; }

  // The call for some of the tokens, without a place for what it gives.
  AttentionArgs ArgsOf(int64_t token, int64_t tokens) {
    AttentionArgs args;
    args.kv = cache_.kv();
    args.query = queries_.data() + token * query_stride();
    args.query_stride = query_stride();
    args.out = nullptr;
    args.out_stride = out_stride();
    args.tokens = tokens;
    args.first_position = shape_.first_position + token;
    if (shape_.ahead >= 0) args.end = shape_.length();
    args.group = shape_.group;
    args.scale = scale();
    args.window = shape_.window;
    args.chunk = shape_.chunk;
    args.soft_cap = shape_.soft_cap;
    if (shape_.sinks) args.sinks = sinks_.data();
    if (shape_.slopes) args.slopes = slopes_.data();
    args.pinned = shape_.pinned;
    if (shape_.pinned > 0) args.pinned_query = pinned_queries_.data() + token * query_stride();
    args.scratch = scratch_.data();
    return args;
  }

  // The outputs of all tokens, computed `chunk` tokens at a time; poison between the rows.
  std::vector<float> Attend(Isa isa, int64_t chunk) {
    std::vector<float> out(static_cast<size_t>(shape_.tokens * out_stride()), kPoison);
    for (int64_t token = 0; token < shape_.tokens; token += chunk) {
      AttentionArgs args = ArgsOf(token, std::min(chunk, shape_.tokens - token));
      args.out = out.data() + token * out_stride();
      TableFor(isa).attention(args);
    }
    return out;
  }
  std::vector<float> Attend(Isa isa) { return Attend(isa, shape_.tokens); }

  float scale() const {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape_.key_dim)));
  }
  const std::vector<float>& sinks() const { return sinks_; }
  const std::vector<float>& slopes() const { return slopes_; }
  const float* Query(int64_t token, int64_t head) const {
    return queries_.data() + token * query_stride() + head * shape_.key_dim;
  }
  const float* PinnedQuery(int64_t token, int64_t head) const {
    return pinned_queries_.data() + token * query_stride() + head * shape_.key_dim;
  }

 private:
  Shape shape_;
  PagedCacheForTest cache_;
  ScratchForTest scratch_;
  std::vector<float> queries_;
  std::vector<float> pinned_queries_;
  std::vector<float> sinks_;
  std::vector<float> slopes_;
  std::vector<std::vector<float>> keys_;
  std::vector<std::vector<float>> values_;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class AttentionTest : public testing::TestWithParam<Isa> {
 protected:
  // The variant gives the bits of the specification, and they are numbers.
  void ExpectSpecified(const Shape& shape) {
    Sequence sequence(shape);
    const std::vector<float> expected = sequence.Attend(ScalarIsa());
    const std::vector<float> got = sequence.Attend(GetParam());
    EXPECT_TRUE(SameBits(got, expected)) << Describe(shape);
    EXPECT_TRUE(std::all_of(got.begin(), got.end(), [](float x) { return std::isfinite(x); }))
        << Describe(shape);
  }
};
INSTANTIATE_TEST_SUITE_P(Isas, AttentionTest, testing::ValuesIn(TestedIsas()), IsaTestName);

// The smallest number there is, negative, and 0, in equal parts: the half of it is rounded to -0,
// which the specification makes 0.
TEST_P(AttentionTest, GivesNoNegativeZero) {
  for (const int dim : {1, 16, 64}) {
    PagedCacheForTest cache(KvType::kF32, dim, dim, 2);
    ScratchForTest scratch(dim, dim, 1);
    const auto row = [dim](float x) { return std::vector<float>(static_cast<size_t>(dim), x); };
    cache.Append(ScalarIsa(), 0, row(0), row(-std::numeric_limits<float>::denorm_min()));
    cache.Append(ScalarIsa(), 1, row(0), row(0));
    const std::vector<float> query = row(0);
    std::vector<float> out = row(kPoison);
    AttentionArgs args;
    args.kv = cache.kv();
    args.query = query.data();
    args.query_stride = dim;
    args.out = out.data();
    args.out_stride = dim;
    args.tokens = 1;
    args.first_position = 1;
    args.group = 1;
    args.scale = 1;
    args.scratch = scratch.data();
    TableFor(GetParam()).attention(args);
    EXPECT_TRUE(SameBits(out, row(0))) << dim;
  }
}

constexpr KvType kFloatTypes[] = {KvType::kF16, KvType::kBF16, KvType::kF32};
constexpr KvTypes kAllTypes[] = {KvType::kF16,
                                 KvType::kBF16,
                                 KvType::kF32,
                                 KvType::kQ8,
                                 KvType::kQ4,
                                 {KvType::kQ8, KvType::kF16},
                                 {KvType::kF32, KvType::kQ4},
                                 {KvType::kQ4, KvType::kQ8}};

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationForEveryHeadSize) {
  for (const KvTypes type : kAllTypes) {
    for (const int dim : {1, 2, 3, 5, 8, 15, 16, 17, 20, 33, 48, 64, 80, 96, 112, 128, 192, 256}) {
      ExpectSpecified({type, dim, dim, 2, 5, 270, 0});
      ExpectSpecified({type, dim, 16, 3, 3, 30, 0});
      ExpectSpecified({type, 16, dim, 1, 9, 0, 0});
    }
  }
}

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationForEveryGroup) {
  for (const KvTypes type : kAllTypes) {
    for (int group = 1; group <= 17; ++group) {
      ExpectSpecified({type, 8, 24, group, 1, 261, 0});
      ExpectSpecified({type, 8, 24, group, 11, 250, 0});
    }
    for (const int group : {31, 32, 33, 63, 64, 65, 127, 128, 129})
      ExpectSpecified({type, 4, 20, group, 3, 40, 0});
  }
}

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationAtEveryLength) {
  for (int64_t last = 0; last < 70; ++last) ExpectSpecified({KvType::kF16, 8, 8, 4, 1, last, 0});
  for (const int64_t length : {255, 256, 257, 511, 512, 513, 1000}) {
    ExpectSpecified({KvType::kF16, 16, 16, 4, 1, length - 1, 0});
    ExpectSpecified({KvType::kF32, 16, 16, 1, 37, length - 37, 0});
  }
}

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationForWholePrompts) {
  ExpectSpecified({KvType::kF16, 16, 16, 1, 300, 0, 0});
  ExpectSpecified({KvType::kF16, 16, 16, 4, 100, 0, 0});
  ExpectSpecified({KvType::kBF16, 16, 16, 4, 100, 0, 0});
  ExpectSpecified({KvType::kF32, 16, 32, 3, 90, 200, 0});
}

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationForEveryWindow) {
  for (const int64_t window : {1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 600}) {
    for (const int64_t first : {0, 31, 254, 500}) {
      ExpectSpecified({KvType::kF16, 8, 16, 1, 20, first, window});
      ExpectSpecified({KvType::kF32, 8, 16, 3, 4, first, window});
    }
  }
}

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationWithSinksAndSoftCaps) {
  for (const auto& [soft_cap, sinks] : {std::pair(0.7f, false), {0.0f, true}, {0.7f, true}}) {
    for (const int group : {1, 3, 16, 17, 64}) {
      ExpectSpecified({KvType::kF16, 16, 16, group, 1, 300, 0, soft_cap, sinks});
      ExpectSpecified({KvType::kF32, 16, 24, group, 40, 230, 0, soft_cap, sinks});
      ExpectSpecified({KvType::kF16, 8, 16, group, 20, 500, 33, soft_cap, sinks});
    }
  }
}

// The sizes of latent attention, and small ones that are no multiples of a vector.
TEST_P(AttentionTest, ValuesInKeysGiveTheBitsOfValuesOfTheirOwn) {
  for (const auto& [key_dim, value_dim] : {std::pair(1, 1), {17, 15}, {40, 32}, {576, 512}}) {
    for (const int group : {1, 3, 16, 17, 128}) {
      for (const KvType type : kFloatTypes) {
        Shape shape = {type, key_dim, value_dim, group, key_dim == 576 ? 2 : 9, 269, 0};
        if (group == 3) shape.window = 20;
        shape.equal_parts = true;
        const std::vector<float> expected = Sequence(shape).Attend(ScalarIsa());
        shape.place = ValuePlace::kInKeys;
        Sequence sequence(shape);
        EXPECT_TRUE(SameBits(sequence.Attend(GetParam()), expected)) << Describe(shape);
        EXPECT_TRUE(SameBits(sequence.Attend(GetParam(), 1), expected)) << Describe(shape);
      }
    }
  }
}

TEST_P(AttentionTest, NoTokenChangesNothing) {
  Sequence sequence({KvType::kF16, 8, 8, 2, 1, 5, 0});
  AttentionArgs args;
  args.kv = sequence.cache().kv();
  args.group = 2;
  TableFor(GetParam()).attention(args);  // null query, output and scratch are not touched
}

TEST_P(AttentionTest, HowTokensAreSplitIntoCallsChangesNoBit) {
  for (const Shape& shape :
       {Shape{KvType::kF16, 16, 16, 1, 200, 150, 0}, Shape{KvType::kF16, 16, 16, 4, 130, 200, 0},
        Shape{KvType::kF32, 24, 40, 3, 100, 0, 0}, Shape{KvType::kF16, 16, 16, 2, 150, 300, 33}}) {
    Sequence sequence(shape);
    const std::vector<float> whole = sequence.Attend(GetParam());
    for (const int64_t chunk : {1, 7, 64}) {
      EXPECT_TRUE(SameBits(sequence.Attend(GetParam(), chunk), whole))
          << Describe(shape) << " in chunks of " << chunk;
    }
  }
}

TEST_P(AttentionTest, LaterTokensCannotBeSeenWhateverTheyHold) {
  const Shape shape = {KvType::kF16, 16, 16, 2, 40, 240, 0};
  Sequence sequence(shape);
  const std::vector<float> before = sequence.Attend(GetParam());
  // The last 7 positions become NaN and infinite; the rows before them keep their bits.
  for (int64_t t = shape.length() - 7; t < shape.length(); ++t) {
    std::byte* page =
        const_cast<std::byte*>(sequence.cache().bytes().data()) +
        sequence.cache().kv().pages[t / kPageTokens] * sequence.cache().kv().page_stride;
    const uint16_t bits = t % 2 == 0 ? 0x7c00 : 0x7e00;
    for (int d = 0; d < 16; ++d) {
      const int64_t key = (t % kPageTokens / 16 * 16 + d) * 16 + t % 16;
      std::memcpy(page + sequence.cache().kv().key_offset + 2 * key, &bits, 2);
      const int64_t value = t % kPageTokens * 16 + d;
      std::memcpy(page + sequence.cache().kv().value_offset + 2 * value, &bits, 2);
    }
  }
  const std::vector<float> after = sequence.Attend(GetParam());
  const size_t untouched = static_cast<size_t>((shape.tokens - 7) * sequence.out_stride());
  EXPECT_EQ(std::memcmp(before.data(), after.data(), untouched * sizeof(float)), 0);
  EXPECT_TRUE(std::isnan(after[untouched])) << "a visible infinity must not be hidden";
}

TEST_P(AttentionTest, EqualScoresGiveTheMeanOfTheValues) {
  PagedCacheForTest cache(KvType::kF32, 2, 1, 300);
  for (int64_t t = 0; t < 300; ++t) {
    cache.Append(GetParam(), t, {0.0f, 0.0f}, {static_cast<float>(t)});
  }
  ScratchForTest scratch(2, 1, 1);
  const std::vector<float> query = {1.0f, 2.0f};
  float out = kPoison;
  AttentionArgs args;
  args.kv = cache.kv();
  args.query = query.data();
  args.out = &out;
  args.tokens = 1;
  args.first_position = 299;
  args.scratch = scratch.data();
  TableFor(GetParam()).attention(args);
  EXPECT_EQ(out, 149.5f);  // (0 + ... + 299) / 300: every sum here is exact
}

TEST_P(AttentionTest, AnOverflowingScoreIsNaNNotANumber) {
  PagedCacheForTest cache(KvType::kF32, 1, 1, 3);
  for (int64_t t = 0; t < 3; ++t) cache.Append(GetParam(), t, {t == 1 ? 3e38f : 1.0f}, {1.0f});
  ScratchForTest scratch(1, 1, 1);
  const float query = 3e38f;
  float out[3] = {};
  AttentionArgs args;
  args.kv = cache.kv();
  args.query = &query;
  args.out = out;
  args.out_stride = 1;
  args.tokens = 3;
  args.scratch = scratch.data();
  TableFor(GetParam()).attention(args);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
}

// Softmax attention of one row in double, over K and V as the cache holds them; `bound` becomes the
// error that the float computation may have in any element.
std::vector<double> ExactRow(const Sequence& sequence, const Shape& shape, int64_t token,
                             int64_t head, double& bound) {
  const int64_t position = shape.first_position + token;
  const KvType type = shape.types.keys;
  const auto stored = [type](float x) {
    if (type == KvType::kF32) return double{x};
    if (type == KvType::kBF16) {
      return double{tensor::FloatFromBf16(tensor::Bf16FromFloat(x))};
    }
    return double{tensor::FloatFromHalf(tensor::HalfFromFloat(x))};
  };
  std::vector<double> scores;
  std::vector<int64_t> seen;
  double magnitude = 0;  // the largest sum of |k q'|
  const int64_t end = shape.end_seen(position);
  for (int64_t t = 0; t < end; ++t) {
    if (!shape.Sees(position, t)) continue;
    const bool pinned = t < shape.pinned;
    const float* query = pinned ? sequence.PinnedQuery(token, head) : sequence.Query(token, head);
    double score = 0;
    double sum = 0;
    for (int d = 0; d < shape.key_dim; ++d) {
      const double term = stored(sequence.keys()[t][d]) * query[d] * double{sequence.scale()};
      score += term;
      sum += std::abs(term);
    }
    if (shape.soft_cap > 0) score = shape.soft_cap * std::tanh(score / shape.soft_cap);
    if (shape.slopes) {
      const int64_t from = pinned ? shape.pinned + shape.window - 1 : position;
      const double cost = double{sequence.slopes()[static_cast<size_t>(head)]} *
                          static_cast<double>(std::abs(from - t));
      score -= cost;
      sum += cost;
    }
    scores.push_back(score);
    seen.push_back(t);
    magnitude = std::max(magnitude, sum);
  }
  double maximum = *std::max_element(scores.begin(), scores.end());
  const double sink = sequence.sinks()[static_cast<size_t>(head)];
  if (shape.sinks) maximum = std::max(maximum, sink);
  std::vector<double> out(static_cast<size_t>(shape.value_dim));
  double weights = shape.sinks ? std::exp(sink - maximum) : 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double weight = std::exp(scores[i] - maximum);
    weights += weight;
    const std::vector<float>& value = sequence.values()[static_cast<size_t>(seen[i])];
    for (int d = 0; d < shape.value_dim; ++d) out[d] += weight * stored(value[d]);
  }
  for (double& x : out) x /= weights;
  // With u = 2^-24: a score is wrong by (key_dim + 2) u magnitude at most (the chain, the scaling,
  // the subtraction of the maximum), so its weight by that relatively, plus 2 u of Exp; numerator
  // and denominator both, hence twice. The sums add 256 u (the chain over a partition), 20 u (l_p)
  // and 8 u per partition (two Exp and two roundings of a merge). |v| <= 1.
  const double partitions = static_cast<double>(end / kPartitionTokens + 2);
  bound = (2 * ((shape.key_dim + 2) * magnitude + 2) + 256 + 20 + 8 * partitions) * 0x1p-24;
  return out;
}

void ExpectClose(Isa isa, const Shape& shape) {
  Sequence sequence(shape);
  const std::vector<float> out = sequence.Attend(isa);
  for (int64_t row = 0; row < shape.tokens * shape.group; ++row) {
    const int64_t token = row / shape.group;
    const int64_t head = row % shape.group;
    double bound = 0;
    const std::vector<double> exact = ExactRow(sequence, shape, token, head, bound);
    // A capped score is wrong by another 2^-22 of the cap, numerator and denominator both.
    bound += 2 * 0x1p-22 * double{shape.soft_cap};
    for (int d = 0; d < shape.value_dim; ++d) {
      const float got = out[token * sequence.out_stride() + head * shape.value_dim + d];
      ASSERT_NEAR(got, exact[static_cast<size_t>(d)], bound) << Describe(shape);
    }
  }
}

TEST_P(AttentionTest, IsCloseToDoublePrecisionWithSinksAndSoftCaps) {
  for (const int64_t length : {1, 2, 255, 256, 257, 600}) {
    const int64_t tokens = std::min<int64_t>(length, 2);
    for (const auto& [soft_cap, sinks] : {std::pair(0.7f, false), {0.0f, true}, {0.7f, true}}) {
      ExpectClose(GetParam(),
                  {KvType::kF32, 32, 8, 3, tokens, length - tokens, 0, soft_cap, sinks});
      ExpectClose(GetParam(),
                  {KvType::kF16, 32, 8, 3, tokens, length - tokens, 33, soft_cap, sinks});
    }
  }
}

TEST_P(AttentionTest, IsCloseToDoublePrecisionInChunks) {
  for (const int64_t length : {1, 33, 255, 256, 257, 700}) {
    for (const int64_t chunk : {1, 31, 32, 256, 300}) {
      const int64_t tokens = std::min<int64_t>(length, 40);
      const Shape shape = {KvType::kF16, 32, 8, 2, tokens, length - tokens};
      for (const int64_t window : {0, 20}) {
        Shape chunked = shape;
        chunked.chunk = chunk;
        chunked.window = window;
        ExpectClose(GetParam(), chunked);
        ExpectSpecified(chunked);
      }
    }
  }
}

// The pinned positions may stand in pages and partitions of the window, or long before it.
TEST_P(AttentionTest, IsCloseToDoublePrecisionInEndlessTexts) {
  for (const int64_t pinned : {1, 4, 31, 32, 33, 256}) {
    for (const int64_t window : {1, 7, 40, 257}) {
      for (const int64_t behind : {0, 1, 300}) {
        Shape shape = {KvType::kF32, 24, 8, 3, behind == 1 ? 1 : 9, pinned + window + behind};
        shape.window = window;
        shape.pinned = pinned;
        shape.slopes = window == 7;
        shape.sinks = window == 40;
        shape.soft_cap = behind == 1 ? 0.7f : 0;
        ExpectClose(GetParam(), shape);
        ExpectSpecified(shape);
      }
    }
  }
}

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationInEndlessTexts) {
  for (const KvTypes types : kAllTypes) {
    for (const int group : {1, 4, 17, 64}) {
      for (const int64_t tokens : {1, 40, 150}) {
        Shape shape = {types, 20, 24, group, tokens, 350, 100};
        shape.pinned = group == 4 ? 250 : 5;
        Sequence sequence(shape);
        const std::vector<float> expected = sequence.Attend(ScalarIsa());
        for (const int64_t chunk : {int64_t{1}, int64_t{7}, tokens}) {
          EXPECT_TRUE(SameBits(sequence.Attend(GetParam(), chunk), expected)) << Describe(shape);
        }
      }
    }
  }
}

// Texts that end at the call's last token, behind it, and in later partitions; with windows to both
// sides, whose far ends no page need hold, and with scores that fall with the distance.
TEST_P(AttentionTest, IsCloseToDoublePrecisionWhereTokensSeeAhead) {
  for (const int64_t first : {0, 1, 250, 300}) {
    for (const int64_t ahead : {0, 1, 31, 240, 300}) {
      for (const int64_t window : {0, 1, 5, 33, 257}) {
        Shape shape = {KvType::kF16, 16, 24, 3, 7, first, window};
        shape.ahead = ahead;
        shape.slopes = window % 2 == 0;
        ExpectClose(GetParam(), shape);
        ExpectSpecified(shape);
      }
    }
  }
}

TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationForWholeTexts) {
  for (const KvTypes type : kAllTypes) {
    for (const int group : {1, 4}) {
      for (const int64_t length : {1, 2, 33, 130, 300}) {
        Shape shape = {type, 16, 32, group, length, 0, length == 130 ? 17 : 0};
        shape.ahead = 0;
        for (const bool slopes : {false, true}) {
          shape.slopes = slopes;
          ExpectSpecified(shape);
        }
      }
    }
  }
}

TEST_P(AttentionTest, IsCloseToDoublePrecisionWhereScoresFallWithTheDistance) {
  for (const int64_t length : {1, 2, 256, 257, 600}) {
    Shape shape = {KvType::kF32, 32, 8, 5, std::min<int64_t>(length, 3)};
    shape.first_position = length - shape.tokens;
    shape.slopes = true;
    for (const float soft_cap : {0.0f, 0.7f}) {
      shape.soft_cap = soft_cap;
      ExpectClose(GetParam(), shape);
      ExpectSpecified(shape);
    }
  }
}

TEST_P(AttentionTest, HowTokensThatSeeAheadAreSplitIntoCallsChangesNoBit) {
  for (const int64_t window : {0, 40}) {
    Shape shape = {KvType::kF16, 16, 16, 2, 290, 0, window};
    shape.ahead = 10;
    shape.slopes = true;
    Sequence sequence(shape);
    const std::vector<float> whole = sequence.Attend(GetParam());
    for (const int64_t chunk : {1, 7, 64}) {
      EXPECT_TRUE(SameBits(sequence.Attend(GetParam(), chunk), whole))
          << Describe(shape) << " in chunks of " << chunk;
    }
  }
}

// All of what a row may see, and what the scratch is cut into, for integers too.
TEST_P(AttentionTest, GivesTheBitsOfTheSpecificationForQuantizedTypes) {
  for (const KvTypes types : kAllTypes) {
    if (!IsQuantized(types.keys) && !IsQuantized(types.values)) continue;
    ExpectSpecified({types, 512, 512, 2, 3, 260, 0});
    ExpectSpecified({types, 1024, 40, 1, 2, 15, 0});
    ExpectSpecified({types, 40, 1024, 1, 2, 15, 0});
    ExpectSpecified({types, 64, 64, 1, 300, 0, 0});
    ExpectSpecified({types, 64, 64, 4, 100, 700, 0});
    for (int64_t last = 0; last < 70; ++last) ExpectSpecified({types, 20, 12, 4, 1, last, 0});
    for (const int64_t window : {1, 16, 31, 33, 257}) {
      ExpectSpecified({types, 24, 40, 3, 20, 500, window});
      ExpectSpecified({types, 24, 40, 2, 1, 500, window});
    }
    for (const bool sinks : {false, true}) {
      ExpectSpecified({types, 16, 24, 5, 40, 230, 0, 0.5f, sinks});
      ExpectSpecified({types, 16, 24, 2, 1, 230, 0, 0.0f, sinks, 100});
    }
    Sequence sequence({types, 24, 40, 3, 100, 200, 0});
    const std::vector<float> all = sequence.Attend(GetParam());
    for (const int64_t chunk : {1, 7, 31, 64}) {
      EXPECT_TRUE(SameBits(sequence.Attend(GetParam(), chunk), all)) << chunk;
    }
  }
}

// Rows of integers are far from what they stand for only by the steps of their scales.
TEST_P(AttentionTest, QuantizedTypesAreCloseToFloats) {
  const auto difference = [&](KvTypes types, int dim) {
    const Shape floats = {KvType::kF32, dim, dim, 2, 40, 260, 0};
    Shape integers = floats;
    integers.types = types;
    const std::vector<float> expected = Sequence(floats).Attend(GetParam());
    const std::vector<float> got = Sequence(integers).Attend(GetParam());
    double largest = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      largest = std::max(largest, std::abs(double{got[i]} - double{expected[i]}));
    }
    return largest;
  };
  for (const int dim : {16, 64, 80, 128}) {
    EXPECT_LT(difference(KvType::kQ8, dim), 2e-3) << dim;
    EXPECT_LT(difference(KvType::kQ4, dim), 4e-2) << dim;
    EXPECT_LT(difference({KvType::kQ8, KvType::kF32}, dim), 1.5e-3) << dim;
    EXPECT_LT(difference({KvType::kF32, KvType::kQ8}, dim), 1.5e-3) << dim;
  }
}

// Scores are integers times scales: with one position apart from the others nothing is rounded.
TEST_P(AttentionTest, QuantizedKeysAndValuesAreFoundWhereTheyWereWritten) {
  for (const KvType type : {KvType::kQ8, KvType::kQ4}) {
    for (const int dim : {1, 4, 8, 9, 16, 32, 64}) {
      PagedCacheForTest cache(type, dim, dim, 70);
      ScratchForTest scratch(dim, dim, 1);
      for (int64_t t = 0; t < 70; ++t) {
        std::vector<float> key(static_cast<size_t>(dim));
        std::vector<float> value(static_cast<size_t>(dim), static_cast<float>(t));
        key[0] = t == 37 ? 64.0f : -64.0f;
        cache.Append(GetParam(), t, key, value);
      }
      std::vector<float> query(static_cast<size_t>(dim));
      query[0] = 8;
      std::vector<float> out(static_cast<size_t>(dim), kPoison);
      AttentionArgs args;
      args.kv = cache.kv();
      args.query = query.data();
      args.out = out.data();
      args.tokens = 1;
      args.first_position = 69;
      args.scratch = scratch.data();
      TableFor(GetParam()).attention(args);
      // The value is 37 but for its scale, a bfloat16 rounded up, and its steps.
      for (const float x : out) EXPECT_NEAR(x, 37.0f, type == KvType::kQ8 ? 0.3f : 3.0f) << dim;
    }
  }
}

// A head that is not finite is a NaN to every row that sees it, and to no other.
TEST_P(AttentionTest, AQuantizedHeadThatIsNotFiniteIsSeen) {
  for (const KvType type : {KvType::kQ8, KvType::kQ4}) {
    for (const bool of_value : {false, true}) {
      PagedCacheForTest cache(type, 8, 8, 3);
      ScratchForTest scratch(8, 8, 1);
      for (int64_t t = 0; t < 3; ++t) {
        std::vector<float> key(8, 1.0f);
        std::vector<float> value(8, 1.0f);
        (of_value ? value : key)[3] = t == 1 ? std::numeric_limits<float>::infinity() : 1.0f;
        cache.Append(GetParam(), t, key, value);
      }
      const std::vector<float> query(24, 0.5f);
      std::vector<float> out(24, kPoison);
      AttentionArgs args;
      args.kv = cache.kv();
      args.query = query.data();
      args.query_stride = 8;
      args.out = out.data();
      args.out_stride = 8;
      args.tokens = 3;
      args.scratch = scratch.data();
      TableFor(GetParam()).attention(args);
      for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(std::isfinite(out[i]));
      for (size_t i = 8; i < 24; ++i) EXPECT_TRUE(std::isnan(out[i]));
    }
  }
}

TEST_P(AttentionTest, IsCloseToDoublePrecision) {
  for (const KvType type : kFloatTypes) {
    for (const int64_t length : {1, 2, 255, 256, 257, 511, 512, 513, 1000}) {
      for (const int64_t window : {0, 1, 2, 31, 32, 33, 255, 256, 257}) {
        const int64_t tokens = std::min<int64_t>(length, 2);
        ExpectClose(GetParam(), {type, 32, 8, 2, tokens, length - tokens, window});
      }
    }
  }
}

// V weighted with them is what attention gives.
void ExpectWeightsOf(const Shape& shape) {
  Sequence sequence(shape);
  const std::vector<float> out = sequence.Attend(ScalarIsa());
  const AttentionArgs args = sequence.ArgsOf(0, shape.tokens);
  std::vector<float> weights(static_cast<size_t>(shape.length()), kPoison);
  for (int64_t row = 0; row < shape.tokens * shape.group; ++row) {
    AttentionWeights(args, row, weights);
    const int64_t token = row / shape.group;
    const int64_t position = shape.first_position + token;
    const float* got =
        out.data() + token * sequence.out_stride() + row % shape.group * shape.value_dim;
    for (int d = 0; d < shape.value_dim; ++d) {
      double sum = 0;
      for (size_t t = 0; t < weights.size(); ++t) {
        sum += double{weights[t]} * sequence.values()[t][static_cast<size_t>(d)];
      }
      ASSERT_NEAR(sum, got[d], 1e-5) << Describe(shape) << " row " << row;
    }
    for (int64_t t = 0; t < shape.length(); ++t) {
      ASSERT_EQ(weights[static_cast<size_t>(t)] > 0, shape.Sees(position, t))
          << Describe(shape) << " at " << t;
    }
  }
}

TEST(AttentionWeights, AreWhatValuesAreMultipliedWith) {
  for (const KvType keys : {KvType::kF16, KvType::kBF16, KvType::kF32, KvType::kQ8, KvType::kQ4}) {
    const KvTypes types = {keys, KvType::kF32};
    ExpectWeightsOf({types, 8, 4, 3, 5, 0, 0});
    ExpectWeightsOf({types, 16, 4, 2, 3, 600, 0});
    ExpectWeightsOf({types, 16, 4, 2, 40, 250, 7});
    ExpectWeightsOf({.types = types,
                     .key_dim = 8,
                     .value_dim = 4,
                     .group = 2,
                     .tokens = 9,
                     .first_position = 3,
                     .soft_cap = 0.7f,
                     .sinks = true});
    ExpectWeightsOf({.types = types,
                     .key_dim = 8,
                     .value_dim = 4,
                     .group = 2,
                     .tokens = 9,
                     .first_position = 260,
                     .chunk = 12});
    ExpectWeightsOf({.types = types,
                     .key_dim = 8,
                     .value_dim = 4,
                     .group = 2,
                     .tokens = 9,
                     .ahead = 4,
                     .slopes = true});
  }
  ExpectWeightsOf({.types = KvType::kF32,
                   .key_dim = 12,
                   .value_dim = 8,
                   .group = 5,
                   .tokens = 6,
                   .first_position = 60,
                   .window = 30,
                   .slopes = true,
                   .pinned = 20});
  ExpectWeightsOf({.types = KvType::kF32,
                   .key_dim = 12,
                   .value_dim = 8,
                   .group = 5,
                   .tokens = 6,
                   .first_position = 40,
                   .place = ValuePlace::kInKeys,
                   .equal_parts = true});
}

TEST(AttentionScratchFloats, HoldsTheRowsOfABlock) {
  for (const int group : {1, 4, 7, 64, 100}) {
    EXPECT_GE(AttentionScratchFloats(128, 128, group), 2 * 128 * std::max(128 / group, 1) * group);
    EXPECT_LE(AttentionScratchFloats(128, 128, group) * 4, int64_t{512} * 1024) << "half of L2";
  }
  // Heads of latent attention: L2 is 2 MiB where there is AMX.
  EXPECT_LE(AttentionScratchFloats(576, 512, 16) * 4, int64_t{2} << 20);
}

}  // namespace
}  // namespace skald::kernels
