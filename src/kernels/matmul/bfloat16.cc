// What a dot product of bfloat16 must do to be used (GivesTheSpecifiedBits).

#include <bit>
#include <cmath>

#include "kernels/matmul/variants.h"
#include "kernels/pack/unit_access.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

// Two units of 16 rows times 16 tokens.
struct Problem {
  static constexpr int kUnits = 2;
  alignas(64) UnitBF16 weights[kUnits] = {};
  alignas(64) BFloat16Tile<kTileTokens> tokens[kUnits] = {};
};

struct Product {
  alignas(64) float y[kTileTokens][kPanelRows] = {};
};

// The kinds of numbers of rows and of tokens: exponents from .. from + count - 1, biased by 127.
struct Kind {
  int from;
  int count;
};
constexpr Kind kOrdinary = {120, 16};    // sums round at every step
constexpr Kind kSmallSquares = {60, 8};  // products around the least normal float
constexpr Kind kSmallest = {0, 4};       // subnormal operands
constexpr Kind kLarge = {182, 16};       // products around the largest float

Kind KindOf(int index) {
  return index < 8 ? kOrdinary : index < 12 ? kSmallSquares : index < 13 ? kSmallest : kLarge;
}

// Random bits, the same each time (Knuth's MMIX).
class Bits {
 public:
  uint16_t BFloat16(Kind kind) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<uint32_t>(state_ >> 40);
    const auto exponent =
        static_cast<uint32_t>(kind.from) + (bits >> 8) % static_cast<uint32_t>(kind.count);
    return static_cast<uint16_t>((bits & 1) << 15 | exponent << 7 | (bits >> 1 & 0x7f));
  }

 private:
  uint64_t state_ = 1;
};

Problem RandomProblem() {
  Problem problem;
  Bits bits;
  for (int u = 0; u < Problem::kUnits; ++u) {
    for (int k = 0; k < 16; ++k) {
      for (int i = 0; i < 16; ++i) {
        for (uint16_t& w : problem.weights[u].w[k][i]) w = bits.BFloat16(KindOf(i));
        for (uint16_t& x : problem.tokens[u].x[i][k]) x = bits.BFloat16(KindOf(i));
      }
    }
  }
  return problem;
}

// One element where two numbers are not zero.
struct Place {
  int unit;
  int k;
  int chain;
};
void Put(const Place& at, int row, float w, float x, Problem& problem) {
  problem.weights[at.unit].w[at.k][row][at.chain] = tensor::Bf16FromFloat(w);
  problem.tokens[at.unit].x[15][at.k][at.chain] = tensor::Bf16FromFloat(x);
}

// Token 15 of what random bits do not tell apart.
//   Row 15   2^-126 - 2^-150 is flushed, 2^-126 - 0.996 * 2^-151 is rounded to 2^-126 and is not: a
//            result is judged after it is rounded to 24 bits, as if exponents had no end. Judging
//            before, or by the subnormal float that is stored, differs.
//   Row 14   2^128 - 2^127: a product that no float can be, but for a step that is fused.
void AddEdges(Problem& problem) {
  for (int u = 0; u < Problem::kUnits; ++u) {
    for (int k = 0; k < 16; ++k) {
      for (const int row : {14, 15}) {
        for (uint16_t& w : problem.weights[u].w[k][row]) w = 0;
      }
      for (uint16_t& x : problem.tokens[u].x[15][k]) x = 0;
    }
  }
  Put({0, 0, 0}, 15, 0x1p-63f, 0x1p-63f, problem);
  Put({0, 1, 0}, 15, 0x1p-75f, -0x1p-75f, problem);
  Put({0, 0, 1}, 15, 0x1p-63f, 0x1p-63f, problem);
  Put({0, 1, 1}, 15, 0x1.fep-77f, -0x1p-75f, problem);
  Put({1, 0, 0}, 14, 0x1p127f, -1.0f, problem);
  Put({1, 1, 0}, 14, 0x1p64f, 0x1p64f, problem);
}

void Multiply(MatmulFn matmul, const Problem& problem, Product& product) {
  matmul({.panels = reinterpret_cast<const std::byte*>(problem.weights),
          .panel_count = 1,
          .cols = Problem::kUnits * kBlockCols,
          .tiles = reinterpret_cast<const std::byte*>(problem.tokens),
          .tokens = kTileTokens,
          .out = product.y[0],
          .out_stride = kPanelRows});
}

}  // namespace

bool GivesTheSpecifiedBits(MatmulFn matmul) {
  Problem problem = RandomProblem();
  AddEdges(problem);
  Product expected;
  Product got;
  Multiply(scalar::MatmulFor(PanelType::kBF16), problem, expected);
  Multiply(matmul, problem, got);
  for (int m = 0; m < kTileTokens; ++m) {
    for (int row = 0; row < kPanelRows; ++row) {
      const float a = expected.y[m][row];
      const float b = got.y[m][row];
      if (std::isnan(a) && std::isnan(b)) continue;
      if (std::bit_cast<uint32_t>(a) != std::bit_cast<uint32_t>(b)) return false;
    }
  }
  return true;
}

}  // namespace skald::kernels
