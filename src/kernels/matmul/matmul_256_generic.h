/// The integer matmuls of 256-bit registers, over the dot products of an instruction set. A panel's
/// 16 rows are two halves of 8: a ymm lane is one output row.
///
/// `Dots` multiplies the weights of 8 rows (weights_avx2.h) with the activations of a token:
///
///     Dot<kFirst, kCount>(weights, q)              columns 4 * kFirst .. 4 * (kFirst + kCount) - 1
///     DotFrom<kFirst, kCount>(start, weights, q)   start + Dot
///     AddScaled<kFirst, kCount>(sum, start, weights, q, scale)   sum + (start + Dot) * scale
///     ScaleOf(scale)                               int32 as AddScaled takes it
///     kStarts                                      whether it takes another start than zero
///     Bytes                                        how weights of 8 bits are multiplied
///
/// The tile size is a variable here: 16 registers cannot hold the weights of a block and the
/// accumulators of many tokens, so accumulators stay in L1 and tokens are a plain loop.
///
/// Include inside a target region: what stands here is a template over Dots, or inlined always.
#pragma once

#include <type_traits>

#include "base/check.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/low_bit_avx2.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx2.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/quant_blocks.h"

// Outside of a region, where only a compilation of this header alone sees them, functions that pass
// vectors would be called in another way. None is.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace skald::kernels::avx2 {

// ---------------------------------------------------------------------------------------------
// Block32: a float scale for each 32 columns.

// How each unit is read: the weights of block `b`, and the offset that remains in them, 1 or a
// multiple of 8.

template <typename Bytes>
struct Q8 {
  using Unit = UnitQ8;
  static constexpr int kOffset = Bytes::kOffset;
  static constexpr bool kHasMin = false;
  [[gnu::always_inline]] static auto Unpack(const Unit& unit, int, int half) {
    UnsignedWeights<8> bytes;
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) bytes.w[k] = Load(unit.q[k][kHalfRows * half]);
    return Bytes::Of(bytes);
  }
};
template <typename UnitType>
struct Q5 {
  using Unit = UnitType;
  static constexpr bool kHasMin = std::is_same_v<Unit, UnitQ5M>;
  static constexpr int kOffset = kHasMin ? 0 : 16;
  [[gnu::always_inline]] static UnsignedWeights<4> Unpack(const Unit& unit, int, int half) {
    return UnpackFive(unit.block, half);
  }
};
template <typename Bytes>
struct I4NL {
  using Unit = UnitI4NL;
  static constexpr int kOffset = Bytes::kOffset;
  static constexpr bool kHasMin = false;
  [[gnu::always_inline]] static auto Unpack(const Unit& unit, int, int half) {
    return Bytes::Of(UnpackIQ4(unit.nibbles, half));
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

// Zero, of which gcc does not know that it is: it would call memset for a loop over sums, or fill
// them by `rep stos`, and either takes as long as a block of dot products.
[[gnu::always_inline]] inline __m256i StoredZero() {
  __m256i zero = _mm256_setzero_si256();
  asm("" : "+x"(zero));
  return zero;
}

// The 8 rows of a half for every token of a tile, in L1.
struct Accumulators {
  __m256 token[kTileTokens];

  [[gnu::always_inline]] void Clear(int tokens) {
    for (int m = 0; m < tokens; ++m) token[m] = _mm256_castsi256_ps(StoredZero());
  }
  [[gnu::always_inline]] void Store(const TileArgs& args, float* out) const {
    for (int m = 0; m < args.tokens; ++m) _mm256_storeu_ps(out + m * args.out_stride, token[m]);
  }
};

template <typename Dots, typename Type>
requires(!std::is_same_v<Type, NV4>)
    [[gnu::always_inline]] inline void AddBlock(const typename Type::Unit& unit, int b, int half,
                                                const Block32Sections& a, int tokens,
                                                Accumulators& acc) {
  const auto weights = Type::Unpack(unit, b, half);
  const __m256 d = LoadScales(unit, half);
  for (int m = 0; m < tokens; ++m) {
    __m256i dot;
    if constexpr (Type::kOffset != 0) {
      const __m256i correction = CorrectionFor<Type::kOffset, 8>(a.corr8[m]);
      dot = Dots::template DotFrom<0, 8>(correction, weights, a.q + 32 * m);
    } else {
      dot = Dots::template Dot<0, 8>(weights, a.q + 32 * m);
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
template <typename Dots, typename Type>
requires std::is_same_v<Type, NV4>
[[gnu::always_inline]] inline void AddBlock(const typename Type::Unit& unit, int b, int half,
                                            const Block32Sections& a, int tokens,
                                            Accumulators& acc) {
  const SignedWeights<4> weights = NV4::Unpack(unit, b, half);
  const __m256 low_d = LoadE4M3(unit, 2 * b, half);
  const __m256 high_d = LoadE4M3(unit, 2 * b + 1, half);
  for (int m = 0; m < tokens; ++m) {
    const int8_t* q = a.q + 32 * m;
    const __m256 da = _mm256_set1_ps(a.da[m]);
    const __m256 low = _mm256_cvtepi32_ps(Dots::template Dot<0, 4>(weights, q));
    const __m256 high = _mm256_cvtepi32_ps(Dots::template Dot<4, 4>(weights, q));
    const __m256 sum = _mm256_fmadd_ps(low, _mm256_mul_ps(low_d, da), acc.token[m]);
    acc.token[m] = _mm256_fmadd_ps(high, _mm256_mul_ps(high_d, da), sum);
  }
}

template <typename Dots, typename Type>
[[gnu::always_inline]] inline void Block32Tokens(const TileArgs& args, int tokens) {
  using Unit = typename Type::Unit;
  constexpr int kBlocks = kBlocksOf<Unit>;
  const int64_t blocks = args.cols / kBlockCols;
  const int64_t tile_bytes = int64_t{tokens} * kBlock32TokenBytes;
  std::byte* tile = const_cast<std::byte*>(args.tile);  // the section structs have no const twin
  Accumulators acc[2];
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const Unit* units = reinterpret_cast<const Unit*>(args.panels) + p * (blocks / kBlocks);
    acc[0].Clear(tokens);
    acc[1].Clear(tokens);
    for (int64_t b = 0; b < blocks; ++b) {
      const Block32Sections a = SectionsOfBlock32(tile + b * tile_bytes, tokens);
      const int part = static_cast<int>(b % kBlocks);
      PrefetchAhead<sizeof(Unit) / kBlocks>(kTwoSteps, &units[b / kBlocks], part);
      AddBlock<Dots, Type>(units[b / kBlocks], part, 0, a, tokens, acc[0]);
      AddBlock<Dots, Type>(units[b / kBlocks], part, 1, a, tokens, acc[1]);
    }
    acc[0].Store(args, args.out + p * kPanelRows);
    acc[1].Store(args, args.out + p * kPanelRows + kHalfRows);
  }
}
// The compiler knows the size of most tiles, and so how long its loops are: 5 to 10 %.
template <typename Dots, typename Type>
void MatmulBlock32(const TileArgs& args) {
  if (args.tokens == kTileTokens) return Block32Tokens<Dots, Type>(args, kTileTokens);
  Block32Tokens<Dots, Type>(args, args.tokens);
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

// The scales of both halves of a block.
struct HalfScales {
  __m256i low;
  __m256i high;
};
template <typename Unit>
[[gnu::always_inline]] inline HalfScales HalfScalesOf(const Unit& unit, int b, int rows) {
  return {LoadBytes(unit.scales[2 * b] + kHalfRows * rows),
          LoadBytes(unit.scales[2 * b + 1] + kHalfRows * rows)};
}
// The nibbles s of the codebooks stand for 2 s + 1.
template <typename BlockType, Codebook kBook>
[[gnu::always_inline]] inline HalfScales HalfScalesOf(const UnitCodes<BlockType, kBook>& unit,
                                                      int b, int rows) {
  const __m256i scales = LoadBytes(unit.blocks[b].scales + kHalfRows * rows);
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i mask = _mm256_set1_epi32(30);
  return {_mm256_or_si256(_mm256_and_si256(_mm256_slli_epi32(scales, 1), mask), one),
          _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(scales, 3), mask), one)};
}

// The int16 pairs (low, high) of two int32 that fit int16.
[[gnu::always_inline]] inline __m256i PairOf(__m256i low, __m256i high) {
  return _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xaa);
}

// The sums of the activations of each token in both halves of each block of half a unit, as int16
// pairs: [block][token]. Eight tokens at a time: token by token it costs as much as a dot product.
struct HalfSums {
  alignas(32) int32_t pairs[4][kTileTokens];

  [[gnu::always_inline]] explicit HalfSums(const Block128Sections& a) {
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) {
      const int32_t* corr = a.corr32 + 2 * b * a.tokens;
      int m = 0;
      for (; m + 8 <= a.tokens; m += 8) {
        const __m256i sums = PairOf(SumOf(corr + m), SumOf(corr + a.tokens + m));
        _mm256_store_si256(reinterpret_cast<__m256i*>(pairs[b] + m), sums);
      }
      for (; m < a.tokens; ++m) {
        const int32_t low = -corr[m] >> 5;
        const int32_t high = -corr[a.tokens + m] >> 5;
        pairs[b][m] = high << 16 | (low & 0xffff);
      }
    }
  }
  // corr32 = -32 * asum, and asum of 16 columns is at most 16 * 127, an int16.
  [[gnu::always_inline]] static __m256i SumOf(const int32_t* corr) {
    return _mm256_srai_epi32(_mm256_sub_epi32(_mm256_setzero_si256(), Load(corr)), 5);
  }
  // The sum over the blocks of their pairs times those of each row.
  [[gnu::always_inline]] __m256i Times(const __m256i (&rows)[4], int m) const {
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) {
      const __m256i pair = _mm256_set1_epi32(pairs[b][m]);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(rows[b], pair));
    }
    return sum;
  }
};

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
    return UnpackFive(unit.blocks[b], half);
  }

  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    const auto weights = Unpack(unit, b, rows);
    const __m256i pairs = scales[b / 2];
    const __m256i scale =
        Dots::ScaleOf(b % 2 == 0 ? _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff))
                                 : _mm256_srli_epi32(pairs, 16));
    const __m256i zero = _mm256_setzero_si256();
    for (int m = 0; m < a.tokens; ++m) {
      const int8_t* q = a.block(b % 4, m);
      sums[m] = Dots::template AddScaled<0, 8>(sums[m], zero, weights, q, scale);
    }
  }
  using MinimumSums = Block128Sections;
  [[gnu::always_inline]] __m256i Minimum(const Block128Sections& a, int half, int m) const {
    __m256i sum = _mm256_setzero_si256();
    for (int j = 0; j < 2; ++j) {
      const __m256i pair = _mm256_set1_epi32(a.sum_pairs[j * a.tokens + m]);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(mins[2 * half + j], pair));
    }
    return sum;
  }
};

// Where the sums of tokens with a scale for each half of a block start: at zero, or, if no dot
// product does, at minus kOffset times their activations times the scales.
template <typename Dots, int kOffset, typename Unit>
[[gnu::always_inline]] inline void StartHalves(const Unit& unit, const BlockArgs& first,
                                               Sums& sums) {
  const auto [a, b, rows] = first;
  if constexpr (Dots::kStarts) {
    for (int m = 0; m < a.tokens; ++m) sums[m] = StoredZero();
  } else {
    const HalfSums half_sums(a);
    __m256i pairs[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const HalfScales scales = HalfScalesOf(unit, b + i, rows);
      pairs[i] = PairOf(scales.low, scales.high);
    }
    const __m256i offset = _mm256_set1_epi32(-kOffset);
    for (int m = 0; m < a.tokens; ++m) {
      sums[m] = _mm256_mullo_epi32(half_sums.Times(pairs, m), offset);
    }
  }
}

// sums += the dot products of both halves of a block, with a scale each. kOffset: that of the
// weights.
template <typename Dots, int kOffset, typename Unit>
[[gnu::always_inline]] inline void AddHalves(const Unit& unit, const auto& weights,
                                             const BlockArgs& block, Sums& sums) {
  const auto [a, b, rows] = block;
  const HalfScales scales = HalfScalesOf(unit, b, rows);
  const __m256i low_scale = Dots::ScaleOf(scales.low);
  const __m256i high_scale = Dots::ScaleOf(scales.high);
  const int32_t* corr = a.corr32 + b % 4 * 2 * a.tokens;
  for (int m = 0; m < a.tokens; ++m) {
    const int8_t* q = a.block(b % 4, m);
    __m256i low = _mm256_setzero_si256();
    __m256i high = low;
    if constexpr (Dots::kStarts) {
      low = CorrectionFor<kOffset, 32>(corr[m]);
      high = CorrectionFor<kOffset, 32>(corr[a.tokens + m]);
    }
    sums[m] = Dots::template AddScaled<0, 4>(sums[m], low, weights, q, low_scale);
    sums[m] = Dots::template AddScaled<4, 4>(sums[m], high, weights, q, high_scale);
  }
}

// kQ6K: a scale for each 16 columns.
struct Q6K {
  using Unit = UnitQ6K;
  static constexpr bool kHasMin = false;
  static constexpr int kOffset = 32;

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
  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    AddHalves<Dots, kOffset>(unit, Unpack(unit.blocks[block.b], block.rows), block, sums);
  }
};

// kI4XS: a scale for each 32 columns.
template <typename Bytes>
struct I4XS {
  using Unit = UnitI4XS;
  static constexpr bool kHasMin = false;

  [[gnu::always_inline]] I4XS(const Unit&, int) {}

  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    const auto weights = Bytes::Of(UnpackIQ4(unit.nibbles[b], rows));
    const __m256i scale = Dots::ScaleOf(LoadBytes(unit.scales[b] + kHalfRows * rows));
    const int32_t* corr = a.corr32 + b % 4 * 2 * a.tokens;
    for (int m = 0; m < a.tokens; ++m) {
      __m256i start = _mm256_setzero_si256();
      if constexpr (Bytes::kOffset != 0) {
        start = CorrectionFor<Bytes::kOffset, 32>(corr[m] + corr[a.tokens + m]);
      }
      const int8_t* q = a.block(b % 4, m);
      sums[m] = Dots::template AddScaled<0, 8>(sums[m], start, weights, q, scale);
    }
  }
};

// kQ2K: a scale and a minimum for each 16 columns. A weight times its scale is at most 3 * 15: the
// scales are multiplied with the weights, once for all tokens, two bytes a 16-bit multiplication,
// since no byte carries into its neighbour. 2 pairs are 2 * 2 * 45 * 127 = 22860.
struct Q2K {
  using Unit = UnitQ2K;
  static constexpr bool kHasMin = true;

  __m256i mins[2][4];

  [[gnu::always_inline]] Q2K(const Unit& unit, int rows) {
    for (int b = 0; b < 8; ++b) mins[b / 4][b % 4] = _mm256_srli_epi16(PairsOf(unit, b, rows), 4);
  }

  // Scales and minimums of both halves of a block, as int16 pairs.
  [[gnu::always_inline]] static __m256i PairsOf(const Unit& unit, int b, int rows) {
    return _mm256_cvtepu8_epi16(Load16(unit.scales[b][kHalfRows * rows]));
  }

  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    UnsignedWeights<2> weights = UnpackTwoBits<2>(unit.blocks[b], rows);
    const __m256i pairs = _mm256_and_si256(PairsOf(unit, b, rows), _mm256_set1_epi16(15));
    // Of the first half in both int16, and of the second.
    const __m256i low = _mm256_blend_epi16(pairs, _mm256_slli_epi32(pairs, 16), 0xaa);
    const __m256i high = _mm256_blend_epi16(pairs, _mm256_srli_epi32(pairs, 16), 0x55);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      weights.w[k] = _mm256_mullo_epi16(weights.w[k], k < 4 ? low : high);
    }
    for (int m = 0; m < a.tokens; ++m) {
      sums[m] = Dots::template DotFrom<0, 8>(sums[m], weights, a.block(b % 4, m));
    }
  }
  using MinimumSums = HalfSums;
  [[gnu::always_inline]] __m256i Minimum(const HalfSums& half_sums, int half, int m) const {
    return half_sums.Times(mins[half], m);
  }
};

// kQ3K: a scale for each 16 columns.
struct Q3K {
  using Unit = UnitQ3K;
  static constexpr bool kHasMin = false;
  static constexpr int kOffset = 4;

  [[gnu::always_inline]] Q3K(const Unit&, int) {}

  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    AddHalves<Dots, kOffset>(unit, UnpackThree(unit.blocks[block.b], block.rows), block, sums);
  }
};

// The codebooks: a scale for each 16 columns.
template <typename UnitType>
struct Codes {
  using Unit = UnitType;
  static constexpr bool kHasMin = false;
  static constexpr int kOffset = kOffsetOf<Unit>;

  [[gnu::always_inline]] Codes(const Unit&, int) {}

  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    AddHalves<Dots, kOffset>(unit, UnpackBlock(unit, block.b, block.rows), block, sums);
  }
};

// kT2: no integer scales.
struct T2 {
  using Unit = UnitT2;
  static constexpr bool kHasMin = false;

  [[gnu::always_inline]] T2(const Unit&, int) {}

  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const BlockArgs& block, Sums& sums) const {
    const auto [a, b, rows] = block;
    const UnsignedWeights<8> weights = UnpackBlock(unit.blocks[b], rows);
    const int32_t* corr = a.corr32 + b % 4 * 2 * a.tokens;
    for (int m = 0; m < a.tokens; ++m) {
      const __m256i correction = CorrectionFor<1, 32>(corr[m] + corr[a.tokens + m]);
      const __m256i dot = Dots::template DotFrom<0, 8>(correction, weights, a.block(b % 4, m));
      sums[m] = _mm256_add_epi32(sums[m], dot);
    }
  }
};

// The rows 8 * rows .. 8 * rows + 7 of one unit; `tile` is its first unit of activations.
template <typename Dots, typename Type>
[[gnu::always_inline]] inline void AddSuperBlock(const typename Type::Unit& unit, int rows,
                                                 std::byte* tile, int tokens, Accumulators& acc) {
  const Type type(unit, rows);
  const __m256 d = LoadScales(unit, rows);
  for (int half = 0; half < 2; ++half) {
    const Block128Sections a =
        SectionsOfBlock128(tile + half * tokens * kBlock128TokenBytes, tokens);
    Sums sums;
    if constexpr (requires { Type::kOffset; }) {
      StartHalves<Dots, Type::kOffset>(unit, {a, 4 * half, rows}, sums);
    } else {
      for (int m = 0; m < tokens; ++m) sums[m] = StoredZero();
    }
    for (int b = 4 * half; b < 4 * half + 4; ++b) {
      if (rows == 0) PrefetchAhead<sizeof(typename Type::Unit) / 8>(kTwoSteps, &unit, b);
      type.template AddBlock<Dots>(unit, {a, b, rows}, sums);
    }
    if constexpr (Type::kHasMin) {
      const typename Type::MinimumSums minimum_sums(a);
      const __m256 dmin = LoadHalves(unit.dmin + kHalfRows * rows);
      for (int m = 0; m < tokens; ++m) {
        const __m256 t = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[m]), d);
        const __m256 minimum = _mm256_cvtepi32_ps(type.Minimum(minimum_sums, half, m));
        const __m256 difference = _mm256_fnmadd_ps(minimum, dmin, t);
        acc.token[m] = _mm256_fmadd_ps(difference, _mm256_set1_ps(a.da[m]), acc.token[m]);
      }
    } else {
      for (int m = 0; m < tokens; ++m) {
        const __m256 t = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[m]), d);
        acc.token[m] = _mm256_fmadd_ps(t, _mm256_set1_ps(a.da[m]), acc.token[m]);
      }
    }
  }
}

template <typename Dots, typename Type>
[[gnu::always_inline]] inline void SuperTokens(const TileArgs& args, int tokens) {
  using Unit = typename Type::Unit;
  const int64_t supers = args.cols / kSuperCols;
  const int64_t tile_bytes = int64_t{tokens} * 2 * kBlock128TokenBytes;
  std::byte* tile = const_cast<std::byte*>(args.tile);
  Accumulators acc[2];
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const Unit* units = reinterpret_cast<const Unit*>(args.panels) + p * supers;
    acc[0].Clear(tokens);
    acc[1].Clear(tokens);
    for (int64_t s = 0; s < supers; ++s) {
      for (int rows = 0; rows < 2; ++rows) {
        AddSuperBlock<Dots, Type>(units[s], rows, tile + s * tile_bytes, tokens, acc[rows]);
      }
    }
    acc[0].Store(args, args.out + p * kPanelRows);
    acc[1].Store(args, args.out + p * kPanelRows + kHalfRows);
  }
}
// As MatmulBlock32.
template <typename Dots, typename Type>
void MatmulSuper(const TileArgs& args) {
  if (args.tokens == kTileTokens) return SuperTokens<Dots, Type>(args, kTileTokens);
  SuperTokens<Dots, Type>(args, args.tokens);
}

/// The function for a type of integers.
template <typename Dots>
MatmulFn IntegerMatmulFor(PanelType type) {
  using Bytes = typename Dots::Bytes;
  switch (type) {
    case PanelType::kF32:
    case PanelType::kF16:
    case PanelType::kBF16: break;
    case PanelType::kQ8: return EveryTile<PanelType::kQ8, MatmulBlock32<Dots, Q8<Bytes>>>;
    case PanelType::kQ5: return EveryTile<PanelType::kQ5, MatmulBlock32<Dots, Q5<UnitQ5>>>;
    case PanelType::kQ5M: return EveryTile<PanelType::kQ5M, MatmulBlock32<Dots, Q5<UnitQ5M>>>;
    case PanelType::kQ4: return EveryTile<PanelType::kQ4, MatmulBlock32<Dots, Q4>>;
    case PanelType::kQ4M: return EveryTile<PanelType::kQ4M, MatmulBlock32<Dots, Q4M>>;
    case PanelType::kI4NL: return EveryTile<PanelType::kI4NL, MatmulBlock32<Dots, I4NL<Bytes>>>;
    case PanelType::kMX4: return EveryTile<PanelType::kMX4, MatmulBlock32<Dots, MX4>>;
    case PanelType::kQ4K: return EveryTile<PanelType::kQ4K, MatmulSuper<Dots, WideScales<UnitQ4K>>>;
    case PanelType::kQ5K: return EveryTile<PanelType::kQ5K, MatmulSuper<Dots, WideScales<UnitQ5K>>>;
    case PanelType::kQ6K: return EveryTile<PanelType::kQ6K, MatmulSuper<Dots, Q6K>>;
    case PanelType::kI4XS: return EveryTile<PanelType::kI4XS, MatmulSuper<Dots, I4XS<Bytes>>>;
    case PanelType::kQ2K: return EveryTile<PanelType::kQ2K, MatmulSuper<Dots, Q2K>>;
    case PanelType::kQ3K: return EveryTile<PanelType::kQ3K, MatmulSuper<Dots, Q3K>>;
    case PanelType::kI2XXS:
      return EveryTile<PanelType::kI2XXS, MatmulSuper<Dots, Codes<UnitI2XXS>>>;
    case PanelType::kI2XS: return EveryTile<PanelType::kI2XS, MatmulSuper<Dots, Codes<UnitI2XS>>>;
    case PanelType::kI2S: return EveryTile<PanelType::kI2S, MatmulSuper<Dots, Codes<UnitI2S>>>;
    case PanelType::kI3XXS:
      return EveryTile<PanelType::kI3XXS, MatmulSuper<Dots, Codes<UnitI3XXS>>>;
    case PanelType::kI3S: return EveryTile<PanelType::kI3S, MatmulSuper<Dots, Codes<UnitI3S>>>;
    case PanelType::kI1: return EveryTile<PanelType::kI1, MatmulSuper<Dots, Codes<UnitI1>>>;
    case PanelType::kT2: return EveryTile<PanelType::kT2, MatmulSuper<Dots, T2>>;
    case PanelType::kQ1:
      return EveryTile<PanelType::kQ1, MatmulBlock32<Dots, OneOrTwoBits<UnitQ1>>>;
    case PanelType::kQ2:
      return EveryTile<PanelType::kQ2, MatmulBlock32<Dots, OneOrTwoBits<UnitQ2>>>;
    case PanelType::kNV4: return EveryTile<PanelType::kNV4, MatmulBlock32<Dots, NV4>>;
  }
  UNREACHABLE();
}

}  // namespace skald::kernels::avx2

#pragma GCC diagnostic pop
