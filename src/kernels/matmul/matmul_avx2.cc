// The AVX2 matmul. A panel's 16 rows are two halves of 8: a ymm lane is one output row.
//
// Without a dot-product instruction, u8 x s8 products are summed in pairs by vpmaddubsw, which
// saturates at int16; each type says how many of its pairs can be added before that is possible, so
// every sum is exact:
//
//     4 bits     8 pairs   8 * 2 * 15 * 127 = 30480
//     5 bits     4 pairs   4 * 2 * 31 * 127 = 31496
//     6 bits     2 pairs   2 * 2 * 63 * 127 = 32004
//     64 +- 62   1 pair        2 * 126 * 127 = 32004
//     8 signed   1 pair        2 * 128 * 127 = 32512, as |w| times q with the sign of w
//
// The tile size is a variable here: 16 registers cannot hold the weights of a block and the
// accumulators of many tokens, so accumulators stay in L1 and tokens are a plain loop.

#include "base/check.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/low_bit_avx2.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx2.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/quant_blocks.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx2_begin.h"
// clang-format on

namespace skald::kernels::avx2 {
namespace {

// ---------------------------------------------------------------------------------------------
// Block32: a float scale for each 32 columns.

// How each unit is read: the weights of block `b`, and the offset that remains in them, 1 or a
// multiple of 8.

struct Q8 {
  using Unit = UnitQ8;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = false;
  [[gnu::always_inline]] static SignedWeights<> Unpack(const Unit& unit, int, int half) {
    return UnpackSigned(unit.q, half);
  }
};
struct Q8M {
  using Unit = UnitQ8M;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  [[gnu::always_inline]] static UnsignedWeights<4> Unpack(const Unit& unit, int, int half) {
    UnsignedWeights<4> weights;
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) weights.w[k] = Load(unit.q[k][kHalfRows * half]);
    return weights;
  }
};
struct Q4 {
  using Unit = UnitQ4;
  static constexpr int kOffset = 8;
  static constexpr bool kHasMin = false;
  [[gnu::always_inline]] static UnsignedWeights<8> Unpack(const Unit& unit, int, int half) {
    return UnpackNibbles<8>(unit.nibbles, half);
  }
};
struct Q4M {
  using Unit = UnitQ4M;
  static constexpr int kOffset = 0;
  static constexpr bool kHasMin = true;
  [[gnu::always_inline]] static UnsignedWeights<8> Unpack(const Unit& unit, int, int half) {
    return UnpackNibbles<8>(unit.nibbles, half);
  }
};

struct MX4 {
  using Unit = UnitMX4;
  static constexpr int kOffset = 16;
  static constexpr bool kHasMin = false;
  // 4 to 28: the bound of 5 bits.
  [[gnu::always_inline]] static UnsignedWeights<4> Unpack(const Unit& unit, int, int half) {
    UnsignedWeights<4> weights = UnpackNibbles<4>(unit.nibbles, half);
    const __m256i values = _mm256_add_epi8(
        _mm256_broadcastsi128_si256(Load16(tensor::kMXFP4Values)), _mm256_set1_epi8(kOffset));
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) weights.w[k] = _mm256_shuffle_epi8(values, weights.w[k]);
    return weights;
  }
};

template <typename UnitType>
struct OneOrTwoBits {
  using Unit = UnitType;
  static constexpr int kOffset = 1;
  static constexpr bool kHasMin = false;
  [[gnu::always_inline]] static UnsignedWeights<8> Unpack(const Unit& unit, int b, int half) {
    return UnpackBlock(unit.blocks[b], half);
  }
};

// |w| is at most 12: 4 pairs are 4 * 2 * 12 * 127 = 12192.
struct NV4 {
  using Unit = UnitNV4;
  [[gnu::always_inline]] static SignedWeights<4> Unpack(const Unit& unit, int b, int half) {
    const UnsignedWeights<8> nibbles = UnpackNibbles<8>(unit.blocks[b], half);
    const __m256i values = _mm256_broadcastsi128_si256(Load16(tensor::kMXFP4Values));
    SignedWeights<4> weights;
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      weights.w[k] = _mm256_shuffle_epi8(values, nibbles.w[k]);
      weights.magnitude[k] = _mm256_abs_epi8(weights.w[k]);
    }
    return weights;
  }
};

// The scales d of 8 rows.
template <typename Unit>
[[gnu::always_inline]] inline __m256 LoadScales(const Unit& unit, int half) {
  return LoadHalves(unit.d + kHalfRows * half);
}
// As tensor::HalfOfPowerOfTwo.
[[gnu::always_inline]] inline __m256 LoadScales(const UnitMX4& unit, int half) {
  const __m256i bits = _mm256_slli_epi32(LoadBytes(unit.e + kHalfRows * half), 23);
  const __m256i power = _mm256_max_epu32(bits, _mm256_set1_epi32(0x400000));
  return _mm256_mul_ps(_mm256_castsi256_ps(power), _mm256_set1_ps(0.5f));
}

template <typename BlockType, Codebook kBook>
[[gnu::always_inline]] inline __m256 LoadScales(const UnitCodes<BlockType, kBook>& unit, int half) {
  return _mm256_mul_ps(LoadHalves(unit.d + kHalfRows * half), _mm256_set1_ps(unit.kStep));
}

// Minus kOffset times the sum of activations that corr, minus kUnit times it, stands for. Exact.
template <int kOffset, int kUnit>
[[gnu::always_inline]] inline __m256i CorrectionFor(int32_t corr) {
  return _mm256_set1_epi32(kOffset >= kUnit ? corr * (kOffset / kUnit) : corr / (kUnit / kOffset));
}

// Those of sub-block s of a unit, as tensor::HalfOfE4M3.
[[gnu::always_inline]] inline __m256 LoadE4M3(const UnitNV4& unit, int s, int half) {
  const __m256i bytes = LoadBytes(unit.d[s] + kHalfRows * half);
  const __m256i bits = _mm256_slli_epi32(_mm256_and_si256(bytes, _mm256_set1_epi32(127)), 20);
  return _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(0x1p119f));
}

// The 8 rows of a half for every token of a tile, in L1.
struct Accumulators {
  __m256 token[kTileTokens];

  [[gnu::always_inline]] void Clear(int tokens) {
    for (int m = 0; m < tokens; ++m) token[m] = _mm256_setzero_ps();
  }
  [[gnu::always_inline]] void Store(const TileArgs& args, float* out) const {
    for (int m = 0; m < args.tokens; ++m) _mm256_storeu_ps(out + m * args.out_stride, token[m]);
  }
};

template <typename Type>
[[gnu::always_inline]] inline void AddBlock(const typename Type::Unit& unit, int b, int half,
                                            const Block32Sections& a, int tokens,
                                            Accumulators& acc) {
  const auto weights = Type::Unpack(unit, b, half);
  const __m256 d = LoadScales(unit, half);
  for (int m = 0; m < tokens; ++m) {
    __m256i dot = weights.template Dot<0, 8>(a.q + 32 * m);
    if constexpr (Type::kOffset != 0) {
      dot = _mm256_add_epi32(dot, CorrectionFor<Type::kOffset, 8>(a.corr8[m]));
    }
    const __m256 da = _mm256_set1_ps(a.da[m]);
    __m256 sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(d, da), acc.token[m]);
    if constexpr (Type::kHasMin) {
      // corr8 = -8 * asum; the shift is exact.
      const __m256i asum = _mm256_set1_epi32(-a.corr8[m] >> 3);
      const __m256 scaled = _mm256_mul_ps(da, _mm256_cvtepi32_ps(asum));
      sum = _mm256_fmadd_ps(LoadHalves(unit.m + kHalfRows * half), scaled, sum);
    }
    acc.token[m] = sum;
  }
}

// kNV4: a scale for each 16 columns.
template <>
[[gnu::always_inline]] inline void AddBlock<NV4>(const UnitNV4& unit, int b, int half,
                                                 const Block32Sections& a, int tokens,
                                                 Accumulators& acc) {
  const SignedWeights<4> weights = NV4::Unpack(unit, b, half);
  const __m256 low_d = LoadE4M3(unit, 2 * b, half);
  const __m256 high_d = LoadE4M3(unit, 2 * b + 1, half);
  for (int m = 0; m < tokens; ++m) {
    const int8_t* q = a.q + 32 * m;
    const __m256 da = _mm256_set1_ps(a.da[m]);
    const __m256 low = _mm256_cvtepi32_ps(weights.Dot<0, 4>(q));
    const __m256 high = _mm256_cvtepi32_ps(weights.Dot<4, 4>(q));
    const __m256 sum = _mm256_fmadd_ps(low, _mm256_mul_ps(low_d, da), acc.token[m]);
    acc.token[m] = _mm256_fmadd_ps(high, _mm256_mul_ps(high_d, da), sum);
  }
}

template <typename Type>
void MatmulBlock32(const TileArgs& args) {
  using Unit = typename Type::Unit;
  constexpr int kBlocks = kBlocksOf<Unit>;
  const int64_t blocks = args.cols / kBlockCols;
  const int64_t tile_bytes = int64_t{args.tokens} * kBlock32TokenBytes;
  std::byte* tile = const_cast<std::byte*>(args.tile);  // the section structs have no const twin
  Accumulators acc[2];
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const Unit* units = reinterpret_cast<const Unit*>(args.panels) + p * (blocks / kBlocks);
    acc[0].Clear(args.tokens);
    acc[1].Clear(args.tokens);
    for (int64_t b = 0; b < blocks; ++b) {
      const Block32Sections a = SectionsOfBlock32(tile + b * tile_bytes, args.tokens);
      const int part = static_cast<int>(b % kBlocks);
      AddBlock<Type>(units[b / kBlocks], part, 0, a, args.tokens, acc[0]);
      AddBlock<Type>(units[b / kBlocks], part, 1, a, args.tokens, acc[1]);
    }
    acc[0].Store(args, args.out + p * kPanelRows);
    acc[1].Store(args, args.out + p * kPanelRows + kHalfRows);
  }
}

// ---------------------------------------------------------------------------------------------
// Super-blocks: integer scales within 256 columns. Each type below says how a block enters the
// integer sums of a token (AddBlock, one call for all tokens) and what its minimum term is
// (Minimum).

// The integer sums I of 8 rows for every token.
using Sums = __m256i[kTileTokens];

// Which block: activations, block 0..7 of the unit, rows 8 * rows .. 8 * rows + 7 of the panel.
struct BlockArgs {
  const Block128Sections& a;
  int b;
  int rows;
};

// dot * scale, added to sum.
[[gnu::always_inline]] inline __m256i AddScaled(__m256i sum, __m256i dot, __m256i scale) {
  return _mm256_add_epi32(sum, _mm256_mullo_epi32(dot, scale));
}

// The 8 rows of one half of PackedScales6, pair j as int16 pairs.
[[gnu::always_inline]] inline __m256i ScalePairs(const PackedScales6& packed, int j, int half) {
  const __m128i low = Load16(packed.low + 32 * j + 16 * half);
  const __m128i high = Load16(packed.high + 32 * (j % 2) + 16 * half);
  const __m128i shifted = j < 2 ? _mm_slli_epi16(high, 4) : _mm_slli_epi16(high, 2);
  return _mm256_cvtepu8_epi16(_mm_or_si128(_mm_and_si128(low, _mm_set1_epi8(15)),
                                           _mm_and_si128(shifted, _mm_set1_epi8(0x30))));
}
[[gnu::always_inline]] inline __m256i MinimumPairs(const PackedScales6& packed, int j, int half) {
  const __m128i low = _mm_srli_epi16(Load16(packed.low + 32 * j + 16 * half), 4);
  const __m128i high = Load16(packed.high + 32 * (j % 2) + 16 * half);
  const __m128i shifted = j < 2 ? high : _mm_srli_epi16(high, 2);
  return _mm256_cvtepu8_epi16(_mm_or_si128(_mm_and_si128(low, _mm_set1_epi8(15)),
                                           _mm_and_si128(shifted, _mm_set1_epi8(0x30))));
}

// kQ4K and kQ5K: scales and minimums for each 32 columns.
template <typename UnitType>
struct WideScales {
  using Unit = UnitType;
  static constexpr bool kHasMin = true;

  __m256i scales[4];
  __m256i mins[4];

  [[gnu::always_inline]] WideScales(const Unit& unit, int rows) {
    for (int j = 0; j < 4; ++j) {
      scales[j] = ScalePairs(unit.scales, j, rows);
      mins[j] = MinimumPairs(unit.scales, j, rows);
    }
  }

  [[gnu::always_inline]] static UnsignedWeights<8> Unpack(const UnitQ4K& unit, int b, int half) {
    return UnpackNibbles<8>(unit.nibbles[b], half);
  }
  [[gnu::always_inline]] static UnsignedWeights<4> Unpack(const UnitQ5K& unit, int b, int half) {
    UnsignedWeights<4> weights = UnpackNibbles<4>(unit.blocks[b].nibbles, half);
    const __m256i high = Load(unit.blocks[b].high[kHalfRows * half]);
    const __m256i mask = _mm256_set1_epi8(16);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      weights.w[k] = OrMasked(weights.w[k], _mm256_slli_epi16(high, 4 - k), mask);
      weights.w[k + 4] = OrMasked(weights.w[k + 4], _mm256_srli_epi16(high, k), mask);
    }
    return weights;
  }

  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    const auto weights = Unpack(unit, b, rows);
    const __m256i pairs = scales[b / 2];
    const __m256i scale = b % 2 == 0 ? _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff))
                                     : _mm256_srli_epi32(pairs, 16);
    for (int m = 0; m < a.tokens; ++m) {
      const __m256i dot = weights.template Dot<0, 8>(a.block(b % 4, m));
      sums[m] = AddScaled(sums[m], dot, scale);
    }
  }
  [[gnu::always_inline]] __m256i Minimum(const Block128Sections& a, int half, int m) const {
    __m256i sum = _mm256_setzero_si256();
    for (int j = 0; j < 2; ++j) {
      const __m256i pair = _mm256_set1_epi32(a.sum_pairs[j * a.tokens + m]);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(mins[2 * half + j], pair));
    }
    return sum;
  }
};

// kQ6K: a scale for each 16 columns.
struct Q6K {
  using Unit = UnitQ6K;
  static constexpr bool kHasMin = false;

  [[gnu::always_inline]] Q6K(const Unit&, int) {}

  [[gnu::always_inline]] static UnsignedWeights<2> Unpack(const BlockQ6& block, int half) {
    UnsignedWeights<2> weights = UnpackNibbles<2>(block.low, half);
    const __m256i mask = _mm256_set1_epi8(0x30);
    __m256i(&w)[8] = weights.w;
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      const __m256i high = Load(block.high[k][kHalfRows * half]);
      w[k] = OrMasked(w[k], _mm256_slli_epi16(high, 4), mask);
      w[k + 2] = OrMasked(w[k + 2], high, mask);
      w[k + 4] = OrMasked(w[k + 4], _mm256_slli_epi16(high, 2), mask);
      w[k + 6] = OrMasked(w[k + 6], _mm256_srli_epi16(high, 2), mask);
    }
    return weights;
  }
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    const UnsignedWeights<2> weights = Unpack(unit.blocks[b], rows);
    const __m256i low_scale = LoadBytes(unit.scales[2 * b] + kHalfRows * rows);
    const __m256i high_scale = LoadBytes(unit.scales[2 * b + 1] + kHalfRows * rows);
    const int32_t* corr = a.corr32 + b % 4 * 2 * a.tokens;
    for (int m = 0; m < a.tokens; ++m) {
      const int8_t* q = a.block(b % 4, m);
      const __m256i low = _mm256_add_epi32(_mm256_set1_epi32(corr[m]), weights.Dot<0, 4>(q));
      const __m256i high =
          _mm256_add_epi32(_mm256_set1_epi32(corr[a.tokens + m]), weights.Dot<4, 4>(q));
      sums[m] = AddScaled(sums[m], low, low_scale);
      sums[m] = AddScaled(sums[m], high, high_scale);
    }
  }
};

// kQ8K: a scale and a minimum for each 16 columns.
struct Q8K {
  using Unit = UnitQ8K;
  static constexpr bool kHasMin = true;

  __m256i mins[16];

  [[gnu::always_inline]] Q8K(const Unit& unit, int rows) {
    for (int t = 0; t < 16; ++t) mins[t] = LoadBytes(unit.mins[t] + kHalfRows * rows);
  }

  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    const SignedWeights<> weights = UnpackSigned(unit.q[b], rows);
    const __m256i low_scale = LoadBytes(unit.scales[2 * b] + kHalfRows * rows);
    const __m256i high_scale = LoadBytes(unit.scales[2 * b + 1] + kHalfRows * rows);
    for (int m = 0; m < a.tokens; ++m) {
      const int8_t* q = a.block(b % 4, m);
      sums[m] = AddScaled(sums[m], weights.Dot<0, 4>(q), low_scale);
      sums[m] = AddScaled(sums[m], weights.Dot<4, 4>(q), high_scale);
    }
  }
  [[gnu::always_inline]] __m256i Minimum(const Block128Sections& a, int half, int m) const {
    __m256i sum = _mm256_setzero_si256();
    for (int t = 0; t < 8; ++t) {
      const int32_t asum = -a.corr32[t * a.tokens + m] >> 5;  // corr32 = -32 * asum, exactly
      sum = AddScaled(sum, _mm256_set1_epi32(asum), mins[8 * half + t]);
    }
    return sum;
  }
};

// The codebooks: a scale for each 16 columns.
template <typename UnitType>
struct Codes {
  using Unit = UnitType;
  static constexpr bool kHasMin = false;

  [[gnu::always_inline]] Codes(const Unit&, int) {}

  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    constexpr int kOffset = kOffsetOf<Unit>;
    const auto [a, b, rows] = block;
    const auto weights = UnpackBlock(unit, b, rows);
    const __m256i scales = LoadBytes(unit.blocks[b].scales + kHalfRows * rows);
    const __m256i one = _mm256_set1_epi32(1);
    // 2 s + 1, of the nibble in place.
    const __m256i mask = _mm256_set1_epi32(30);
    const __m256i low_scale =
        _mm256_or_si256(_mm256_and_si256(_mm256_slli_epi32(scales, 1), mask), one);
    const __m256i high_scale =
        _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(scales, 3), mask), one);
    const int32_t* corr = a.corr32 + b % 4 * 2 * a.tokens;
    for (int m = 0; m < a.tokens; ++m) {
      const int8_t* q = a.block(b % 4, m);
      const __m256i low_dot = weights.template Dot<0, 4>(q);
      const __m256i high_dot = weights.template Dot<4, 4>(q);
      const __m256i low = _mm256_add_epi32(CorrectionFor<kOffset, 32>(corr[m]), low_dot);
      const __m256i high =
          _mm256_add_epi32(CorrectionFor<kOffset, 32>(corr[a.tokens + m]), high_dot);
      sums[m] = AddScaled(sums[m], low, low_scale);
      sums[m] = AddScaled(sums[m], high, high_scale);
    }
  }
};

// kT2: no integer scales.
struct T2 {
  using Unit = UnitT2;
  static constexpr bool kHasMin = false;

  [[gnu::always_inline]] T2(const Unit&, int) {}

  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    const UnsignedWeights<8> weights = UnpackBlock(unit.blocks[b], rows);
    const int32_t* corr = a.corr32 + b % 4 * 2 * a.tokens;
    for (int m = 0; m < a.tokens; ++m) {
      const __m256i dot = weights.Dot<0, 8>(a.block(b % 4, m));
      const __m256i correction = CorrectionFor<1, 32>(corr[m] + corr[a.tokens + m]);
      sums[m] = _mm256_add_epi32(sums[m], _mm256_add_epi32(dot, correction));
    }
  }
};

// The rows 8 * rows .. 8 * rows + 7 of one unit; `tile` is its first unit of activations.
template <typename Type>
[[gnu::always_inline]] inline void AddSuperBlock(const typename Type::Unit& unit, int rows,
                                                 std::byte* tile, int tokens, Accumulators& acc) {
  const Type type(unit, rows);
  const __m256 d = LoadScales(unit, rows);
  for (int half = 0; half < 2; ++half) {
    const Block128Sections a =
        SectionsOfBlock128(tile + half * tokens * kBlock128TokenBytes, tokens);
    Sums sums;
    for (int m = 0; m < tokens; ++m) sums[m] = _mm256_setzero_si256();
    for (int b = 4 * half; b < 4 * half + 4; ++b) type.AddBlock(unit, {a, b, rows}, sums);
    for (int m = 0; m < tokens; ++m) {
      __m256 t = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[m]), d);
      if constexpr (Type::kHasMin) {
        const __m256 dmin = LoadHalves(unit.dmin + kHalfRows * rows);
        t = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(type.Minimum(a, half, m)), dmin, t);
      }
      acc.token[m] = _mm256_fmadd_ps(t, _mm256_set1_ps(a.da[m]), acc.token[m]);
    }
  }
}

template <typename Type>
void MatmulSuper(const TileArgs& args) {
  using Unit = typename Type::Unit;
  const int64_t supers = args.cols / kSuperCols;
  const int64_t tile_bytes = int64_t{args.tokens} * 2 * kBlock128TokenBytes;
  std::byte* tile = const_cast<std::byte*>(args.tile);
  Accumulators acc[2];
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const Unit* units = reinterpret_cast<const Unit*>(args.panels) + p * supers;
    acc[0].Clear(args.tokens);
    acc[1].Clear(args.tokens);
    for (int64_t s = 0; s < supers; ++s) {
      for (int rows = 0; rows < 2; ++rows) {
        AddSuperBlock<Type>(units[s], rows, tile + s * tile_bytes, args.tokens, acc[rows]);
      }
    }
    acc[0].Store(args, args.out + p * kPanelRows);
    acc[1].Store(args, args.out + p * kPanelRows + kHalfRows);
  }
}

// ---------------------------------------------------------------------------------------------
// Float weights: one fma chain per element.

struct F32 {
  static constexpr int kBytes = 4;
  [[gnu::always_inline]] static __m256 Load8(const std::byte* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
};
struct F16 {
  static constexpr int kBytes = 2;
  [[gnu::always_inline]] static __m256 Load8(const std::byte* p) {
    return LoadHalves(reinterpret_cast<const uint16_t*>(p));
  }
};
struct BF16 {
  static constexpr int kBytes = 2;
  [[gnu::always_inline]] static __m256 Load8(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load16(p)), 16));
  }
};

// kTokens tokens times kPanels panels: 2 * kTokens * kPanels accumulators, 8 of them to cover the
// latency of the fma, which leaves registers for the weights and a broadcast.
template <typename Type, int kTokens, int kPanels>
void FloatPanels(const TileArgs& args, int64_t panel, int token) {
  const int64_t column_bytes = kPanelRows * Type::kBytes;
  const int64_t panel_bytes = args.cols * column_bytes;
  const std::byte* panels = args.panels + panel * panel_bytes;
  const float* x = reinterpret_cast<const float*>(args.tile) + token;
  __m256 acc[kTokens][kPanels][2];
  for (int m = 0; m < kTokens; ++m) {
    for (int p = 0; p < kPanels; ++p) acc[m][p][0] = acc[m][p][1] = _mm256_setzero_ps();
  }
  for (int64_t k = 0; k < args.cols; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const std::byte* column = panels + p * panel_bytes + k * column_bytes;
      const __m256 w0 = Type::Load8(column);
      const __m256 w1 = Type::Load8(column + column_bytes / 2);
#pragma GCC unroll 4
      for (int m = 0; m < kTokens; ++m) {
        const __m256 xm = _mm256_set1_ps(x[k * args.tokens + m]);
        acc[m][p][0] = _mm256_fmadd_ps(w0, xm, acc[m][p][0]);
        acc[m][p][1] = _mm256_fmadd_ps(w1, xm, acc[m][p][1]);
      }
    }
  }
  float* out = args.out + token * args.out_stride + panel * kPanelRows;
  for (int m = 0; m < kTokens; ++m) {
    for (int p = 0; p < kPanels; ++p) {
      float* target = out + m * args.out_stride + p * kPanelRows;
      _mm256_storeu_ps(target, acc[m][p][0]);
      _mm256_storeu_ps(target + kHalfRows, acc[m][p][1]);
    }
  }
}

// The next kPanels panels for all tokens: by fours, then two, then one.
template <typename Type, int kPanels>
void FloatTokens(const TileArgs& args, int64_t panel) {
  int m = 0;
  if constexpr (kPanels == 1) {
    for (; m + 4 <= args.tokens; m += 4) FloatPanels<Type, 4, 1>(args, panel, m);
  }
  if constexpr (kPanels <= 2) {
    for (; m + 2 <= args.tokens; m += 2) FloatPanels<Type, 2, kPanels>(args, panel, m);
  }
  for (; m < args.tokens; ++m) FloatPanels<Type, 1, kPanels>(args, panel, m);
}

template <typename Type>
void MatmulFloat(const TileArgs& args) {
  int64_t p = 0;
  if (args.tokens == 1) {
    for (; p + 4 <= args.panel_count; p += 4) FloatTokens<Type, 4>(args, p);
  } else if (args.tokens < 4) {
    for (; p + 2 <= args.panel_count; p += 2) FloatTokens<Type, 2>(args, p);
  }
  for (; p < args.panel_count; ++p) FloatTokens<Type, 1>(args, p);
}

}  // namespace

MatmulFn MatmulFor(PanelType type) {
  switch (type) {
    case PanelType::kF32: return EveryTile<PanelType::kF32, MatmulFloat<F32>>;
    case PanelType::kF16: return EveryTile<PanelType::kF16, MatmulFloat<F16>>;
    case PanelType::kBF16: return EveryTile<PanelType::kBF16, MatmulFloat<BF16>>;
    case PanelType::kQ8: return EveryTile<PanelType::kQ8, MatmulBlock32<Q8>>;
    case PanelType::kQ8M: return EveryTile<PanelType::kQ8M, MatmulBlock32<Q8M>>;
    case PanelType::kQ4: return EveryTile<PanelType::kQ4, MatmulBlock32<Q4>>;
    case PanelType::kQ4M: return EveryTile<PanelType::kQ4M, MatmulBlock32<Q4M>>;
    case PanelType::kMX4: return EveryTile<PanelType::kMX4, MatmulBlock32<MX4>>;
    case PanelType::kQ4K: return EveryTile<PanelType::kQ4K, MatmulSuper<WideScales<UnitQ4K>>>;
    case PanelType::kQ5K: return EveryTile<PanelType::kQ5K, MatmulSuper<WideScales<UnitQ5K>>>;
    case PanelType::kQ6K: return EveryTile<PanelType::kQ6K, MatmulSuper<Q6K>>;
    case PanelType::kQ8K: return EveryTile<PanelType::kQ8K, MatmulSuper<Q8K>>;
    case PanelType::kI2XXS: return EveryTile<PanelType::kI2XXS, MatmulSuper<Codes<UnitI2XXS>>>;
    case PanelType::kI2XS: return EveryTile<PanelType::kI2XS, MatmulSuper<Codes<UnitI2XS>>>;
    case PanelType::kI2S: return EveryTile<PanelType::kI2S, MatmulSuper<Codes<UnitI2S>>>;
    case PanelType::kI3XXS: return EveryTile<PanelType::kI3XXS, MatmulSuper<Codes<UnitI3XXS>>>;
    case PanelType::kI3S: return EveryTile<PanelType::kI3S, MatmulSuper<Codes<UnitI3S>>>;
    case PanelType::kI1: return EveryTile<PanelType::kI1, MatmulSuper<Codes<UnitI1>>>;
    case PanelType::kT2: return EveryTile<PanelType::kT2, MatmulSuper<T2>>;
    case PanelType::kQ1: return EveryTile<PanelType::kQ1, MatmulBlock32<OneOrTwoBits<UnitQ1>>>;
    case PanelType::kQ2: return EveryTile<PanelType::kQ2, MatmulBlock32<OneOrTwoBits<UnitQ2>>>;
    case PanelType::kNV4: return EveryTile<PanelType::kNV4, MatmulBlock32<NV4>>;
  }
  UNREACHABLE();
}

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
