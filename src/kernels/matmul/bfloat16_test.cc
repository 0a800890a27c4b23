// The matmul of bfloat16 weights: what the specification says (numerics 3.6), that every way to
// compute it on this CPU gives its bits, and that a way with other bits is found out.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/isa/cpu.h"
#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/matmul/emulated_amx_for_test.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/variants.h"
#include "kernels/pack/unit_access.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/quantize.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

// Stored bits of weights [row][column] and of activations [token][column].
struct Bits {
  int64_t rows;
  int64_t tokens;
  int64_t cols;
  std::vector<uint16_t> w;
  std::vector<uint16_t> x;
};

Bits Zeros(int64_t rows, int64_t tokens, int64_t cols) {
  return {rows, tokens, cols, std::vector<uint16_t>(static_cast<size_t>(rows * cols)),
          std::vector<uint16_t>(static_cast<size_t>(tokens * cols))};
}

// [token][row].
std::vector<float> Multiply(MatmulFn matmul, const Bits& bits) {
  const int64_t panels = (bits.rows + kPanelRows - 1) / kPanelRows;
  const int64_t panel_bytes = PanelBytes(PanelType::kBF16, bits.cols);
  std::vector<UnitBF16> packed(static_cast<size_t>(panels * panel_bytes) / sizeof(UnitBF16));
  const auto stored = std::as_bytes(std::span(bits.w));
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t count = std::min<int64_t>(kPanelRows, bits.rows - p * kPanelRows);
    PackPanel(tensor::DType::kBF16,
              stored.subspan(static_cast<size_t>(p * kPanelRows * bits.cols * 2),
                             static_cast<size_t>(count * bits.cols * 2)),
              static_cast<int>(count), bits.cols,
              reinterpret_cast<std::byte*>(packed.data()) + p * panel_bytes);
  }
  std::vector<float> x;
  for (const uint16_t value : bits.x) x.push_back(tensor::FloatFromBf16(value));
  const int64_t token_bytes = ActivationBytes(ActivationFormat::kBFloat16, bits.cols);
  std::vector<std::byte> tiles(static_cast<size_t>(bits.tokens * token_bytes));
  for (int64_t first = 0; first < bits.tokens;) {
    const int count = NextTileTokens(bits.tokens - first);
    TableFor(ScalarIsa())
        .QuantizeOf(ActivationFormat::kBFloat16)({.x = x.data() + first * bits.cols,
                                                  .x_stride = bits.cols,
                                                  .tokens = count,
                                                  .cols = bits.cols,
                                                  .tile = tiles.data() + first * token_bytes});
    first += count;
  }
  std::vector<float> padded(static_cast<size_t>(bits.tokens * panels * kPanelRows), -1.0f);
  AlignedBuffer scratch = *AlignedBuffer::Create(kMatmulScratchBytes);
  matmul({.panels = reinterpret_cast<const std::byte*>(packed.data()),
          .panel_count = panels,
          .cols = bits.cols,
          .tiles = tiles.data(),
          .tokens = bits.tokens,
          .out = padded.data(),
          .out_stride = panels * kPanelRows,
          .scratch = scratch.data()});
  return padded;
}

// y of row 0 and token 0, where column i has w = values[i].first and x = values[i].second.
float Row(const std::vector<std::pair<float, float>>& values) {
  Bits bits = Zeros(1, 1, static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    bits.w[i] = tensor::Bf16FromFloat(values[i].first);
    bits.x[i] = tensor::Bf16FromFloat(values[i].second);
  }
  return Multiply(scalar::MatmulFor(PanelType::kBF16), bits)[0];
}

// Columns i with weight values[j].second at column values[j].first, and activations 1.
float RowOf(const std::vector<std::pair<int, float>>& weights, size_t cols) {
  std::vector<std::pair<float, float>> values(cols, {0.0f, 1.0f});
  for (const auto& [column, weight] : weights) values[static_cast<size_t>(column)].first = weight;
  return Row(values);
}

TEST(BFloat16, AUnitIsTwoChainsOfSixteenColumns) {
  // A float ends at 2^24: a one added to it alone is lost, two added first are not.
  EXPECT_EQ(RowOf({{0, 0x1p24f}, {1, 1}, {2, 1}}, 32), 0x1p24f) << "one chain";
  EXPECT_EQ(RowOf({{0, 0x1p24f}, {16, 1}, {31, 1}}, 32), 0x1p24f + 2) << "the other chain";
  EXPECT_EQ(RowOf({{15, 0x1p24f}, {1, 1}, {2, 1}}, 32), 0x1p24f + 2) << "columns ascending";
  EXPECT_EQ(RowOf({{0, 0x1p24f}, {32, 1}, {33, 1}}, 64), 0x1p24f + 2)
      << "units add up by themselves";
  EXPECT_EQ(RowOf({{32, 0x1p24f}, {0, 1}, {64, 1}}, 96), 0x1p24f) << "units ascending";
  EXPECT_EQ(RowOf({{16, 0x1p24f}, {17, 1}, {18, 1}}, 19), 0x1p24f) << "a part of a unit";
}

TEST(BFloat16, AStepIsFusedAndActivationsAreRounded) {
  EXPECT_EQ(Row({{-1.0f, 1.0f}, {1.0078125f, 1.0078125f}}), 1.0078125f * 1.0078125f - 1.0f);
  Bits bits = Zeros(1, 1, 1);
  EXPECT_EQ(Row({{1.0f, 1.0f + 0x1p-8f}}), 1.0f) << "a tie, to even";
  EXPECT_EQ(Row({{1.0f, 1.0f + 0x3p-8f}}), 1.0f + 0x1p-6f) << "a tie, to even";
}

TEST(BFloat16, SubnormalNumbersAreZeros) {
  EXPECT_EQ(Row({{0x1p-127f, 0x1p100f}}), 0.0f) << "a weight";
  EXPECT_EQ(Row({{0x1p100f, 0x1p-127f}}), 0.0f) << "an activation";
  EXPECT_EQ(Row({{0x1p-126f, 1.0f}}), 0x1p-126f);
  EXPECT_EQ(Row({{0x1p-64f, 0x1p-63f}}), 0.0f) << "a step";
  std::vector<std::pair<float, float>> halves(17, {0.0f, 1.0f});
  halves[0].first = 0x1.8p-126f;
  halves[16].first = -0x1p-126f;
  EXPECT_EQ(Row(halves), 0.0f) << "the sum of the chains";
}

// Random bits of one kind: a range of exponents, biased by 127, that is hard in its own way.
struct Kind {
  const char* name;
  int from;
  int count;
};
constexpr Kind kKinds[] = {
    {"anything, NaN and infinity", 0, 256},
    {"anything finite", 0, 255},
    {"ordinary", 123, 8},
    {"exact sums that cancel", 107, 40},
    {"around the least product", 60, 8},
    {"just at it", 62, 3},
    {"subnormal", 0, 4},
    {"around the largest product", 182, 16},
    {"small beside large", 40, 90},
};

uint16_t RandomBits(const Kind& kind, std::mt19937& random) {
  const auto bits = static_cast<uint32_t>(random());
  const auto exponent =
      static_cast<uint32_t>(kind.from) + (bits >> 8) % static_cast<uint32_t>(kind.count);
  // Few bits, so that sums are exact and cancel; zeros of both signs.
  const uint32_t mantissa = (bits & 0x10000000) != 0 ? bits & 0x7f : bits & 0x60;
  if (bits % 61 == 0) return static_cast<uint16_t>(bits >> 31 << 15);
  return static_cast<uint16_t>(bits >> 31 << 15 | exponent << 7 | mantissa);
}

// Equal bits, but one NaN is as good as another.
void ExpectSameBits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ": " << actual[i] << " for " << expected[i];
  }
}

// A way to compute it, and whether this CPU has it.
struct Way {
  const char* name;
  bool present;
  MatmulFn matmul;
};
std::vector<Way> Ways() {
  const bool avx512 = CpuHasAvx2() && CpuHasAvx512();
  return {
    {"avx2", CpuHasAvx2(), avx2::MatmulBFloat16},
        {"avx512_fma", avx512, avx512::MatmulBFloat16ByFma},
        {"avx512_dots", CpuHasBFloat16Dots(), avx512::MatmulBFloat16ByDots},
        {"avx512_dots of two panels", CpuHasBFloat16Dots(), avx512::MatmulBFloat16ByDotsOfTwo},
#if defined(SKALD_EMULATED_TILES)
        {"emulated amx", avx512, emulated_amx::MatmulBFloat16},
#endif
    {
      "amx", CpuHasBFloat16Tiles(), amx::MatmulBFloat16
    }
  };
}

void ExpectAllWaysEqual(const Bits& bits) {
  const std::vector<float> expected = Multiply(scalar::MatmulFor(PanelType::kBF16), bits);
  for (const Way& way : Ways()) {
    if (!way.present) continue;
    SCOPED_TRACE(way.name);
    ExpectSameBits(Multiply(way.matmul, bits), expected);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(BFloat16, EveryWayGivesTheBitsOfTheSpecification) {
  for (const Way& way : Ways()) {
    RecordProperty(way.name, way.present ? "run" : "not run: the CPU lacks it");
    if (!way.present) std::fprintf(stderr, "not run: this CPU lacks bfloat16 by %s\n", way.name);
  }
  struct Shape {
    int64_t rows;
    int64_t tokens;
    int64_t cols;
  };
  // 1100: more than a chunk; 560: more panels than are put in order at once.
  std::vector<Shape> shapes = {{77, 37, 64}, {32, 65, 1100}, {560, 33, 40}};
  for (const int64_t tokens : {16, 12, 8, 6, 4, 3, 2, 1, 31}) shapes.push_back({32, tokens, 33});
  // Columns in several parts at every number of tokens, and panels that are no multiple of 2 or 4.
  for (const int64_t tokens : {16, 12, 8, 6, 4, 3, 2, 1}) shapes.push_back({112, tokens, 4200});
  std::mt19937 random(1);
  for (const Kind& kind : kKinds) {
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(testing::Message() << kind.name << ", " << shape.tokens << " tokens, "
                                      << shape.rows << " x " << shape.cols);
      Bits bits = Zeros(shape.rows, shape.tokens, shape.cols);
      for (uint16_t& w : bits.w) w = RandomBits(kind, random);
      for (uint16_t& x : bits.x) x = RandomBits(kind, random);
      ExpectAllWaysEqual(bits);
      if (HasFatalFailure()) return;
    }
  }
}

// Results that lie within some 2^-151 of the least normal float, both sides: each chain begins with
// 2^-126 or next to it, and goes on by steps of at most 2^-148.
TEST(BFloat16, EveryWayFlushesAtTheSameEdge) {
  std::mt19937 random(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    Bits bits = Zeros(32, 48, 32);
    const auto fill = [&](std::vector<uint16_t>& values) {
      for (size_t i = 0; i < values.size(); ++i) {
        const auto r = static_cast<uint32_t>(random());
        const uint32_t exponent = i % 16 == 0 ? 64 : 50 + r % 4;  // 2^-63 squared, 2^-77 .. 2^-74
        const uint32_t mantissa = (r & 0x300) != 0 ? 0 : r >> 16 & (i % 16 == 0 ? 1 : 0x7f);
        values[i] = static_cast<uint16_t>(r >> 31 << 15 | exponent << 7 | mantissa);
      }
    };
    fill(bits.w);
    fill(bits.x);
    ExpectAllWaysEqual(bits);
    if (HasFatalFailure()) return;
  }
}

// ---------------------------------------------------------------------------------------------
// What GivesTheSpecifiedBits finds out: functions that differ in one point.

struct Mistake {
  bool reversed_pairs = false;  // the later of two steps first
  bool one_chain = false;
  bool acc_first = false;  // (acc + chain) + chain
  bool unfused = false;
  bool keeps_subnormals = false;
  bool keeps_subnormal_inputs = false;
  bool tiny_before_rounding = false;
  bool tiny_as_stored = false;  // judged by the subnormal float
};

class Wrong {
 public:
  explicit Wrong(const Mistake& mistake) : mistake_(mistake) {}

  void Multiply(const MatmulArgs& args) const {
    const auto* units = reinterpret_cast<const UnitBF16*>(args.panels);
    const auto* tiles = reinterpret_cast<const BFloat16Tile<16>*>(args.tiles);
    for (int m = 0; m < 16; ++m) {
      for (int row = 0; row < 16; ++row) {
        float acc = 0;
        for (int u = 0; u < 2; ++u) acc = AddUnit(acc, units[u], tiles[u], row, m);
        args.out[16 * m + row] = acc;
      }
    }
  }

 private:
  float AddUnit(float acc, const UnitBF16& unit, const BFloat16Tile<16>& tile, int row,
                int m) const {
    float chains[2] = {0, 0};
    for (int chain = 0; chain < 2; ++chain) {
      float& sum = chains[mistake_.one_chain ? 0 : chain];
      for (int i = 0; i < 16; ++i) {
        const int k = mistake_.reversed_pairs ? i ^ 1 : i;
        sum = Step(Input(unit.w[k][row][chain]), Input(tile.x[m][k][chain]), sum);
      }
    }
    if (mistake_.acc_first) return Flush(Flush(acc + chains[0]) + chains[1]);
    return Flush(acc + Flush(chains[0] + chains[1]));
  }
  float Step(float w, float x, float sum) const {
    const double exact = double{w} * double{x} + double{sum};
    float result = std::fma(w, x, sum);
    if (mistake_.unfused) result = static_cast<float>(w * x) + sum;
    if (mistake_.keeps_subnormals) return result;
    if (mistake_.tiny_as_stored) return Flush(result);
    const double least = mistake_.tiny_before_rounding ? 0x1p-126 : 0x1p-126 - 0x1p-151;
    return std::fabs(exact) < least ? std::copysign(0.0f, result) : result;
  }
  float Input(uint16_t bits) const {
    const float value = tensor::FloatFromBf16(bits);
    return mistake_.keeps_subnormal_inputs ? value : Flush(value);
  }
  float Flush(float x) const {
    if (mistake_.keeps_subnormals) return x;
    return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
  }

  Mistake mistake_;
};

// A MatmulFn has no state: one function for each mistake.
template <Mistake kMistake>
void WrongMatmul(const MatmulArgs& args) {
  Wrong(kMistake).Multiply(args);
}

TEST(BFloat16, TheCheckOfTheCpuAcceptsWhatIsRight) {
  EXPECT_TRUE(GivesTheSpecifiedBits(WrongMatmul<Mistake{}>)) << "no mistake";
  for (const Way& way : Ways()) {
    if (!way.present) continue;
    EXPECT_TRUE(GivesTheSpecifiedBits(way.matmul)) << way.name;
  }
}

TEST(BFloat16, TheCheckOfTheCpuFindsEveryMistake) {
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.reversed_pairs = true}>));
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.one_chain = true}>));
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.acc_first = true}>));
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.unfused = true}>));
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.keeps_subnormals = true}>));
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.keeps_subnormal_inputs = true}>));
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.tiny_before_rounding = true}>));
  EXPECT_FALSE(GivesTheSpecifiedBits(WrongMatmul<Mistake{.tiny_as_stored = true}>));
}

// The fast ways are used where they are right: a CPU that this fails on computes BF16 slower.
TEST(BFloat16, TheFastestWayOfThisCpuIsChosen) {
  KernelTable table;
  if (CpuHasAvx2() && CpuHasAvx512()) {
    FindIsa("avx512")->install(table);
    const MatmulFn chosen = table.MatmulOf(PanelType::kBF16);
    EXPECT_EQ(
        chosen == &avx512::MatmulBFloat16ByDots || chosen == &avx512::MatmulBFloat16ByDotsOfTwo,
        CpuHasFastBFloat16Dots());
    EXPECT_EQ(chosen == &avx512::MatmulBFloat16ByFma, !CpuHasFastBFloat16Dots());
  }
  if (CpuHasBFloat16Tiles()) {
    FindIsa("amx")->install(table);
    EXPECT_EQ(table.MatmulOf(PanelType::kBF16), &amx::MatmulBFloat16);
  }
}

}  // namespace
}  // namespace skald::kernels
