#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/matmul/emulated_amx_for_test.h"
#include "kernels/matmul/variants.h"
#include "kernels/pack/dequantize.h"
#include "kernels/pack/panel.h"
#include "kernels/test_data.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {
namespace {

using tensor::DType;

struct alignas(64) Scratch {
  std::byte bytes[kMatmulScratchBytes];
};

// A stored matrix, its packed form and prepared activations.
class Problem {
 public:
  Problem(DType dtype, std::vector<std::byte> source, std::vector<float> x, int tokens)
      : dtype_(dtype),
        type_(PanelTypeFor(dtype)),
        tokens_(tokens),
        cols_(static_cast<int64_t>(x.size()) / tokens),
        source_(std::move(source)),
        x_(std::move(x)) {
    const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
    row_bytes_ = cols_ / info.block_elements * info.block_bytes;
    rows_ = static_cast<int64_t>(source_.size()) / row_bytes_;
    panels_ = (rows_ + kPanelRows - 1) / kPanelRows;
    const int64_t panel_bytes = PanelBytes(type_, cols_);
    // A guard of 64 bytes behind each buffer would hide reads past the end from a sanitizer, so
    // the buffers have the exact size.
    packed_.resize(panels_ * panel_bytes);
    for (int64_t p = 0; p < panels_; ++p) {
      const int64_t count = std::min<int64_t>(kPanelRows, rows_ - p * kPanelRows);
      PackPanel(dtype, std::span(source_).subspan(p * kPanelRows * row_bytes_, count * row_bytes_),
                static_cast<int>(count), cols_, packed_.data() + p * panel_bytes);
    }
    const ActivationFormat format = InfoOf(type_).activation;
    const int64_t token_bytes = ActivationBytes(format, cols_);
    tiles_.resize(tokens * token_bytes);
    for (int first = 0; first < tokens;) {
      const int count = NextTileTokens(tokens - first);
      TableFor(ScalarIsa())
          .QuantizeOf(format)({.x = x_.data() + first * cols_,
                               .x_stride = cols_,
                               .tokens = count,
                               .cols = cols_,
                               .tile = tiles_.data() + first * token_bytes});
      first += count;
    }
  }

  // [token][panel][lane], the rows of two tokens `gap` floats apart more than needed.
  std::vector<float> Run(Isa isa, int64_t gap = 0) const {
    return Run(TableFor(isa).MatmulOf(type_), gap);
  }
  std::vector<float> Run(MatmulFn matmul, int64_t gap = 0) const {
    const int64_t stride = panels_ * kPanelRows + gap;
    std::vector<float> out(tokens_ * stride, kPoison);
    // From the heap, which keeps its pages: to map those of an AlignedBuffer each time takes longer
    // than all else that these tests do.
    const auto scratch = std::make_unique_for_overwrite<Scratch>();
    std::memset(scratch->bytes, 0xff, sizeof(scratch->bytes));  // NaN: what is left from before
    matmul({.panels = packed_.data(),
            .panel_count = panels_,
            .cols = cols_,
            .tiles = tiles_.data(),
            .tokens = tokens_,
            .out = out.data(),
            .out_stride = stride,
            .scratch = scratch->bytes});
    return out;
  }

  // Row `row` of the weights, dequantized.
  std::vector<float> WeightRow(int64_t row) const {
    std::vector<float> weights(cols_);
    DequantizeRow(dtype_, std::span(source_).subspan(row * row_bytes_, row_bytes_), cols_,
                  weights.data());
    return weights;
  }

  int64_t panels() const { return panels_; }

  static constexpr float kPoison = -12345.0f;

 private:
  DType dtype_;
  PanelType type_;
  int tokens_;
  int64_t cols_;
  int64_t row_bytes_ = 0;
  int64_t rows_ = 0;
  int64_t panels_ = 0;
  std::vector<std::byte> source_;
  std::vector<float> x_;
  std::vector<std::byte> packed_;
  std::vector<std::byte> tiles_;
};

std::vector<float> RandomActivations(int64_t count, std::mt19937& random) {
  std::vector<float> x(count);
  for (float& value : x) value = RandomFloat(random);
  return x;
}

Problem RandomProblem(DType dtype, int tokens, int64_t cols, int64_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> source = RandomBlocks(dtype, rows * cols, random);
  return Problem(dtype, std::move(source), RandomActivations(tokens * cols, random), tokens);
}

// Equal bits, but one NaN is as good as another (numerics rule 5).
void ExpectSameBits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ": " << actual[i] << " for " << expected[i];
  }
}

std::vector<DType> AllDTypeValues() {
  std::vector<DType> all;
  for (const tensor::DTypeInfo& info : tensor::AllDTypes()) all.push_back(info.dtype);
  return all;
}

// By type, all sets of the machine in one test: the scalar variant, which takes longer than all
// others together, then computes what they are compared with once.
class EveryVariant : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  int64_t unit_cols() const { return InfoOf(PanelTypeFor(dtype())).unit_cols; }
  // Of types that need no whole units.
  bool any_cols() const { return unit_cols() == 1 || dtype() == DType::kBF16; }

  // Calls check(isa) for each set of this machine, until one fails.
  template <typename Check>
  static void ForEachIsa(const Check& check) {
    static const std::vector<Isa> isas = TestedIsas();
    for (const Isa& isa : isas) {
      SCOPED_TRACE(isa.name);
      check(isa);
      if (HasFailure()) return;
    }
  }

  // Expects of each set the bits of the scalar one, and of each way that a set has: which one it
  // takes is a matter of the machine. Of AMX also over emulated tiles: few machines have others.
  void ExpectBitsOfTheScalarVariant(const Problem& problem, int64_t gap = 0) const {
    const std::vector<float> expected = problem.Run(ScalarIsa(), gap);
    ForEachIsa([&](const Isa& isa) {
      ExpectSameBits(problem.Run(isa, gap), expected);
      if (isa.name == "avx512") ExpectBitsOfEveryWay(problem, gap, expected);
    });
  }

 private:
  void ExpectBitsOfEveryWay(const Problem& problem, int64_t gap,
                            const std::vector<float>& expected) const {
    for (const MatmulWay& way : avx512::WaysOf(PanelTypeFor(dtype()))) {
      SCOPED_TRACE(way.name);
      ExpectSameBits(problem.Run(way.matmul, gap), expected);
    }
    if (dtype() == DType::kQ6_K || dtype() == DType::kQ3_K) {
      for (const MatmulWay& way : avx512::UnpackedWays(PanelTypeFor(dtype()))) {
        SCOPED_TRACE("unpacked, " + std::string(way.name));
        ExpectSameBits(problem.Run(way.matmul, gap), expected);
      }
    }
    SCOPED_TRACE("emulated tiles");
    ExpectSameBits(problem.Run(emulated_amx::MatmulFor(PanelTypeFor(dtype())), gap), expected);
  }
};

TEST_P(EveryVariant, ComputesTheBitsOfTheScalarVariant) {
  std::vector<int64_t> cols = {unit_cols(), 2 * unit_cols(), 5 * unit_cols()};
  if (any_cols()) cols = {1, 7, 172};
  uint32_t seed = 1;
  for (const int tokens : kTileSizes) {
    for (const int64_t c : cols) {
      for (const int64_t rows : {16, 24, 48, 64, 80, 144}) {
        if (rows > 16 && c != cols.back() && tokens > 4) continue;
        SCOPED_TRACE(testing::Message() << tokens << " tokens, " << rows << " x " << c);
        const Problem problem = RandomProblem(dtype(), tokens, c, rows, ++seed);
        ExpectBitsOfTheScalarVariant(problem);
        if (HasFailure()) return;
      }
    }
  }
}

// More tokens than a tile: pairs of tiles, a single one behind them, a rest, and more than the
// kernels hold at once.
TEST_P(EveryVariant, ComputesTheBitsOfTheScalarVariantForManyTokens) {
  const int64_t cols = unit_cols() == 1 ? 20 : 3 * unit_cols() - (any_cols() ? 5 : 0);
  for (const int tokens : {17, 32, 33, 48, 63, 530}) {
    for (const int64_t rows : {16, 40, 264}) {
      if (tokens == 530 && rows != 40) continue;
      SCOPED_TRACE(testing::Message() << tokens << " tokens, " << rows << " rows");
      const Problem problem = RandomProblem(dtype(), tokens, cols, rows, 77);
      ExpectBitsOfTheScalarVariant(problem, 5);
      if (HasFailure()) return;
    }
  }
}

// Rows that come in several parts: what is unpacked once for many tokens, for two panels and for
// one behind them, with a last part of one unit; NVFP4; and Q5_K, which has no parts.
class WideRows : public EveryVariant {};

TEST_P(WideRows, HaveTheBitsOfTheScalarVariant) {
  for (const int64_t cols : {16 * 256, 64 * 256, 129 * 256}) {
    SCOPED_TRACE(testing::Message() << cols << " columns");
    ExpectBitsOfTheScalarVariant(RandomProblem(dtype(), 33, cols, 40, 11));
  }
}

TEST_P(EveryVariant, LeavesTheGapsBetweenOutputRowsAlone) {
  const Problem problem = RandomProblem(dtype(), 3, 2 * unit_cols(), 20, 5);
  const int64_t width = problem.panels() * kPanelRows;
  ForEachIsa([&](const Isa& isa) {
    const std::vector<float> packed = problem.Run(isa);
    const std::vector<float> gapped = problem.Run(isa, 7);
    for (int m = 0; m < 3; ++m) {
      for (int64_t i = 0; i < width; ++i)
        EXPECT_EQ(gapped[m * (width + 7) + i], packed[m * width + i]);
      for (int64_t i = width; i < width + 7; ++i) {
        EXPECT_EQ(gapped[m * (width + 7) + i], Problem::kPoison);
      }
    }
  });
}

TEST_P(EveryVariant, PaddingRowsGivePositiveZero) {
  const Problem problem = RandomProblem(dtype(), 2, 2 * unit_cols(), 1, 6);
  ForEachIsa([&](const Isa& isa) {
    const std::vector<float> out = problem.Run(isa);
    for (int m = 0; m < 2; ++m) {
      for (int row = 1; row < kPanelRows; ++row) {
        EXPECT_EQ(std::bit_cast<uint32_t>(out[m * kPanelRows + row]), 0u) << m << ", " << row;
      }
    }
  });
}

// The largest integers of both sides: a saturating instruction would clip here.
TEST_P(EveryVariant, LargestIntegersDoNotSaturate) {
  const int64_t cols = 2 * unit_cols();
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype());
  if (ScaleFieldsOf(dtype()).count == 0) return;  // a float type has no integers
  for (const int fill : {0x00, 0x7f, 0x80, 0xff, 0x0f, 0xf0}) {
    for (const float sign : {1.0f, -1.0f}) {
      SCOPED_TRACE(testing::Message() << "fill " << fill << " sign " << sign);
      std::vector<std::byte> source(16 * cols / info.block_elements * info.block_bytes,
                                    static_cast<std::byte>(fill));
      for (size_t block = 0; block < source.size(); block += info.block_bytes) {
        StoreScales(dtype(), 1.0f, source.data() + block);
      }
      std::vector<float> x(4 * cols, sign * 127.0f);
      for (int64_t i = cols; i < 2 * cols; i += 2) x[i] = -x[i];           // token 1: alternating
      for (int64_t i = 2 * cols; i < 3 * cols; i += 4) x[i] = 127.0f * 8;  // token 2: shifts
      const Problem problem(dtype(), source, x, 4);
      ExpectBitsOfTheScalarVariant(problem);
      // And against plain arithmetic, for the token whose activations are integers without loss.
      const std::vector<float> weights = problem.WeightRow(0);
      double expected = 0;
      for (const float w : weights) expected += static_cast<double>(w) * (sign * 127.0);
      EXPECT_EQ(problem.Run(ScalarIsa())[0], static_cast<float>(expected));
    }
  }
}

TEST_P(EveryVariant, ATokenDoesNotDependOnItsTile) {
  const int64_t cols = any_cols() ? 40 : 2 * unit_cols();
  std::mt19937 random(9);
  const std::vector<std::byte> source = RandomBlocks(dtype(), 32 * cols, random);
  const std::vector<float> x = RandomActivations(kTileTokens * cols, random);
  std::vector<Problem> alone;
  for (int m = 0; m < kTileTokens; ++m) {
    alone.emplace_back(dtype(), source,
                       std::vector(x.begin() + m * cols, x.begin() + (m + 1) * cols), 1);
  }
  std::vector<Problem> tiles;
  for (const int tokens : kTileSizes) {
    tiles.emplace_back(dtype(), source, std::vector(x.begin(), x.begin() + tokens * cols), tokens);
  }
  ForEachIsa([&](const Isa& isa) {
    std::vector<float> expected;
    for (const Problem& token : alone) {
      const std::vector<float> y = token.Run(isa);
      expected.insert(expected.end(), y.begin(), y.end());
    }
    for (size_t i = 0; i < tiles.size(); ++i) {
      const int tokens = kTileSizes[i];
      SCOPED_TRACE(testing::Message() << tokens << " tokens");
      ExpectSameBits(tiles[i].Run(isa), {expected.begin(), expected.begin() + tokens * 32});
    }
  });
}

TEST_P(EveryVariant, AnInfiniteActivationPoisonsItsTokenOnly) {
  const int64_t cols = 2 * unit_cols();
  std::mt19937 random(10);
  const std::vector<std::byte> source = RandomBlocks(dtype(), 16 * cols, random);
  std::vector<float> x = RandomActivations(4 * cols, random);
  const Problem clean(dtype(), source, x, 4);
  x[2 * cols + 1] = std::numeric_limits<float>::quiet_NaN();
  const Problem poisoned(dtype(), source, x, 4);
  ForEachIsa([&](const Isa& isa) {
    const std::vector<float> expected = clean.Run(isa);
    const std::vector<float> actual = poisoned.Run(isa);
    for (int m = 0; m < 4; ++m) {
      for (int row = 0; row < kPanelRows; ++row) {
        const int i = m * kPanelRows + row;
        if (m == 2) {
          EXPECT_TRUE(std::isnan(actual[i])) << "row " << row;
        } else {
          EXPECT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]));
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Matmul, WideRows,
                         testing::Values(DType::kQ3_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ3_S,
                                         DType::kNVFP4),
                         [](const auto& param) {
                           return std::string(tensor::InfoOf(param.param).name);
                         });
INSTANTIATE_TEST_SUITE_P(Matmul, EveryVariant, testing::ValuesIn(AllDTypeValues()),
                         [](const testing::TestParamInfo<DType>& param) {
                           return std::string(tensor::InfoOf(param.param).name);
                         });

// Row r has the exponent r and a single weight, 1: every exponent is read exactly, also those of
// subnormal floats. One token goes through vectors, 32 through tiles where there are some.
TEST(Matmul, EveryExponentOfMXFP4IsExact) {
  constexpr int kExponents = 249;  // beyond, 127 times the weight is infinite
  std::vector<std::byte> source;
  for (int e = 0; e < kExponents; ++e) {
    tensor::BlockMXFP4 block = {.e = static_cast<uint8_t>(e), .qs = {}};
    block.qs[3] = 0x20;  // column 19
    const auto bytes = std::as_bytes(std::span(&block, 1));
    source.insert(source.end(), bytes.begin(), bytes.end());
  }
  for (const int tokens : {1, 32}) {
    const Problem problem(DType::kMXFP4, source, std::vector<float>(tokens * 32, 127.0f), tokens);
    for (const Isa isa : TestedIsas()) {
      const std::vector<float> y = problem.Run(isa);
      for (int e = 0; e < kExponents; ++e) {
        EXPECT_EQ(y[e], static_cast<float>(std::ldexp(127.0, e - 127))) << isa.name << " " << e;
      }
    }
  }
}

// A set without a function of its own would give the right bits, slowly. Floats may be those of a
// lesser set: tiles have integers only, and bfloat16 where the CPU has them (bfloat16_test.cc).
TEST(Matmul, EverySetHasItsOwnFunctions) {
  std::vector<KernelTable> tables;
  for (const Isa& isa : AllIsas()) isa.install(tables.emplace_back());
  for (const DType dtype : AllDTypeValues()) {
    const PanelType type = PanelTypeFor(dtype);
    const ActivationFormat format = InfoOf(type).activation;
    if (format == ActivationFormat::kF32 || format == ActivationFormat::kBFloat16) {
      EXPECT_NE(tables[1].MatmulOf(type), tables[0].MatmulOf(type));
      continue;
    }
    std::set<MatmulFn> functions;
    for (const KernelTable& table : tables) functions.insert(table.MatmulOf(type));
    EXPECT_EQ(functions.size(), tables.size()) << tensor::InfoOf(dtype).name;
  }
}

// Accuracy of the scalar variant (and so of all) against doubles on the dequantized weights.

class Accuracy : public testing::TestWithParam<DType> {
 protected:
  // Ordinary weights: scales around 0.01, random integers, no degenerate blocks.
  static std::vector<std::byte> OrdinaryBlocks(DType dtype, int64_t elements,
                                               std::mt19937& random) {
    std::vector<std::byte> blocks = RandomBlocks(dtype, elements, random);
    const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
    if (ScaleFieldsOf(dtype).count == 0) return blocks;
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(random() % 256);
    for (size_t block = 0; block < blocks.size(); block += info.block_bytes) {
      for (int field = 0; field < ScaleFieldsOf(dtype).count; ++field) {
        const float d = 0.005f + static_cast<float>(random() % 100) * 1e-4f;
        StoreScaleBits(dtype, ScaleBits(dtype, d), blocks.data() + block, field);
      }
    }
    return blocks;
  }
};

// How far one output may be from the exact product of the dequantized row w and x:
//   activations  x' differs from x by at most half a step, step = A / 127, A the largest |x| of the
//                scale group. As independent errors in [-step / 2, step / 2], their sum exceeds
//                4 * sqrt(sum (w * step)^2) with probability below 2 exp(-32) (Hoeffding).
//   bfloat16     the same, each number a group of its own: step = |x| / 128 at most.
//   floats       every operation of the chain rounds by 2^-24 of a partial sum, which is at most
//                the sum of |w| * A. A type with a minimum subtracts larger numbers to get w: at
//                most twice the largest |w| of the row, the element whose integer is largest.
double BoundOf(const std::vector<float>& w, const float* x, ActivationFormat format) {
  const int64_t cols = static_cast<int64_t>(w.size());
  const bool rounded = format != ActivationFormat::kF32;
  const bool quantized = rounded && format != ActivationFormat::kBFloat16;
  const int64_t group = format == ActivationFormat::kBlock32    ? 32
                        : format == ActivationFormat::kBlock128 ? 128
                                                                : 1;
  double peak = 0;
  for (const float value : w) peak = std::max(peak, std::fabs(double{value}));
  double square = 0;
  double magnitude = 0;
  for (int64_t i = 0; i < cols; i += group) {
    double largest = 0;
    for (int64_t j = i; j < i + group; ++j) largest = std::max(largest, std::fabs(double{x[j]}));
    for (int64_t j = i; j < i + group; ++j) {
      square += std::pow(w[j] * largest / 127, 2);
      magnitude += (quantized ? 2 * peak : std::fabs(double{w[j]})) * largest;
    }
  }
  // Operations in the chain of one output: one per column, or up to four per scale group.
  const double operations = static_cast<double>(quantized ? 4 * cols / group : cols);
  return (rounded ? 4 * std::sqrt(square) : 0) + operations * 0x1p-24 * magnitude;
}

double ExactDot(const std::vector<float>& w, const float* x) {
  double sum = 0;
  for (size_t i = 0; i < w.size(); ++i) sum += double{w[i]} * double{x[i]};
  return sum;
}

std::vector<float> UniformActivations(int64_t count, std::mt19937& random) {
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(random() % 20001) * 1e-4f - 1.0f;
  return x;
}

TEST_P(Accuracy, IsWithinTheDerivedBound) {
  const int64_t cols = 1024;
  std::mt19937 random(11);
  const std::vector<std::byte> source = OrdinaryBlocks(GetParam(), 16 * cols, random);
  for (const bool outliers : {false, true}) {
    const std::vector<float> x =
        outliers ? RandomActivations(2 * cols, random) : UniformActivations(2 * cols, random);
    const Problem problem(GetParam(), source, x, 2);
    const std::vector<float> y = problem.Run(DetectIsa());
    const ActivationFormat format = InfoOf(PanelTypeFor(GetParam())).activation;
    for (int row = 0; row < kPanelRows; ++row) {
      const std::vector<float> w = problem.WeightRow(row);
      for (int m = 0; m < 2; ++m) {
        const float* xm = x.data() + m * cols;
        EXPECT_LE(std::fabs(y[m * kPanelRows + row] - ExactDot(w, xm)), BoundOf(w, xm, format))
            << "row " << row << " token " << m;
      }
    }
  }
}

// The bound is not so wide that nothing could fail it: with the wrong sign on one super-block of
// four the output is outside for nearly every row (in the rest that super-block's own sum is
// small).
TEST_P(Accuracy, TheBoundCatchesAWrongSuperBlock) {
  const int64_t cols = 1024;
  std::mt19937 random(12);
  const std::vector<std::byte> source = OrdinaryBlocks(GetParam(), 16 * cols, random);
  const std::vector<float> x = UniformActivations(cols, random);
  const Problem problem(GetParam(), source, x, 1);
  const std::vector<float> y = problem.Run(DetectIsa());
  const ActivationFormat format = InfoOf(PanelTypeFor(GetParam())).activation;
  int caught = 0;
  for (int row = 0; row < kPanelRows; ++row) {
    std::vector<float> w = problem.WeightRow(row);
    for (int i = 512; i < 768; ++i) w[i] = -w[i];
    if (std::fabs(y[row] - ExactDot(w, x.data())) > BoundOf(w, x.data(), format)) ++caught;
  }
  EXPECT_GE(caught, 12);
}

INSTANTIATE_TEST_SUITE_P(Matmul, Accuracy, testing::ValuesIn(AllDTypeValues()),
                         [](const testing::TestParamInfo<DType>& param) {
                           return std::string(tensor::InfoOf(param.param).name);
                         });

}  // namespace
}  // namespace skald::kernels
