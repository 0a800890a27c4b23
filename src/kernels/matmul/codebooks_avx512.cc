// The AVX-512 matmul of the codebook types by permutations of bytes (AVX-512 VBMI), in place of
// gathers (super_avx512.cc).
//
// A gather is as many loads as it has entries, and on AMD's cores far more instructions. But a
// codebook knows few levels, so an entry fits two bytes (code_tables.h), and 64 entries are looked
// up at once: a permutation takes bytes out of a table of 128, a blend chooses between two. What
// follows spreads the numbers of levels to a byte each, looks the levels up, and adds signs.
//
//                           entries             instructions for 64 weights
//     of 4 columns          256, 512            7, 10
//     of 8 columns          256, 512, 1024      5, 6, 8
//     of 8, ternary         2048                12
//
// The loops are those of all super-blocks.

#include "base/check.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/code_tables.h"
#include "kernels/matmul/dots_avx512.h"
#include "kernels/matmul/low_bit_avx512.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/target_avx512vbmi_begin.h"
#include "kernels/matmul/matmul_generic.h"
#include "kernels/matmul/super_avx512_generic.h"
#include "kernels/matmul/unpacked_avx512_generic.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

// For each of 64 indices the byte of a table of 2^kBits. `low`: bits 0..7 of the indices;
// high[i]: bit 8 + i.
template <int kBits>
[[gnu::always_inline]] inline __m512i LookUp(const uint8_t* table, __m512i low,
                                             const __mmask64 (&high)[3]) {
  if constexpr (kBits == 7) {
    return _mm512_permutex2var_epi8(Load(table), low, Load(table + 64));
  } else {
    const __m512i first = LookUp<kBits - 1>(table, low, high);
    const __m512i second = LookUp<kBits - 1>(table + (1 << (kBits - 1)), low, high);
    const __mmask64 bit = kBits == 8 ? _mm512_movepi8_mask(low) : high[kBits >= 9 ? kBits - 9 : 0];
    return _mm512_mask_blend_epi8(bit, first, second);
  }
}

// 64 - the magnitude where the sign is set, of 64 + the magnitude.
[[gnu::always_inline]] inline __m512i Negate(__m512i w, const uint8_t (&signs)[8]) {
  return _mm512_mask_sub_epi8(w, LoadMask(signs), _mm512_set1_epi8(-128), w);
}

// Where the bytes of 16 rows and 4 groups of 8 columns stand while they are looked up: qword q has
// those of the rows 2 q and 2 q + 1, of the first group, of the second, and so on.
[[gnu::always_inline]] inline __m512i ByRows(const uint8_t (&bytes)[4][16]) {
  static constexpr int16_t kWords[] = {0, 8,  16, 24, 1, 9,  17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
                                       4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31};
  return _mm512_permutexvar_epi16(Load(kWords), Load(bytes));
}
// The same of a byte of each row for the first two groups, and one for the others.
[[gnu::always_inline]] inline __m512i ByRows(const uint8_t (&first)[16],
                                             const uint8_t (&last)[16]) {
  static constexpr int16_t kWords[] = {0, 0, 32, 32, 1, 1, 33, 33, 2, 2, 34, 34, 3, 3, 35, 35,
                                       4, 4, 36, 36, 5, 5, 37, 37, 6, 6, 38, 38, 7, 7, 39, 39};
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(last));
  return _mm512_permutex2var_epi16(_mm512_castsi128_si512(low), Load(kWords),
                                   _mm512_castsi128_si512(high));
}
// The same bits for the two rows of each qword.
[[gnu::always_inline]] inline __m512i OfGroups(int64_t first, int64_t second, int64_t third,
                                               int64_t fourth) {
  const int64_t bytes = first | second << 16 | third << 32 | fourth << 48;
  return _mm512_set1_epi64(bytes | bytes << 8);
}

// The levels of 16 rows and 4 columns: of group kGroup of bytes by rows that have 2 bits for each
// column.
template <int kGroup>
[[gnu::always_inline]] inline __m512i Spread(__m512i codes, __m512i levels) {
  // 8 bits from each column on, of which two matter.
  const __m512i bits = _mm512_set1_epi64(0x0e0c0a08'06040200 + 0x10101010'10101010 * kGroup);
  return _mm512_permutexvar_epi8(_mm512_multishift_epi64_epi8(bits, codes), levels);
}

template <int kGroup>
[[gnu::always_inline]] inline void UnpackGroup(__m512i first, __m512i second, __m512i levels,
                                               const BlockI2& block, Weights& w) {
  w[2 * kGroup] = Negate(Spread<kGroup>(first, levels), block.signs[2 * kGroup]);
  w[2 * kGroup + 1] = Negate(Spread<kGroup>(second, levels), block.signs[2 * kGroup + 1]);
}

template <int kBits>
[[gnu::always_inline]] inline void UnpackEights(const BlockI2& block, const CodeTables& tables,
                                                Weights& w) {
  const __m512i low = ByRows(block.low);
  __mmask64 high[3] = {0, 0, 0};
  if constexpr (kBits > 8) {
    const __m512i rows = ByRows(block.high, block.high);
    high[0] = _mm512_test_epi8_mask(rows, OfGroups(1, 4, 16, 64));
    high[1] = _mm512_test_epi8_mask(rows, OfGroups(2, 8, 32, 128));
  }
  const __m512i levels = Load(tables.levels);
  const __m512i first = LookUp<kBits>(tables.halves[0], low, high);
  const __m512i second = LookUp<kBits>(tables.halves[1], low, high);
  UnpackGroup<0>(first, second, levels, block, w);
  UnpackGroup<1>(first, second, levels, block, w);
  UnpackGroup<2>(first, second, levels, block, w);
  UnpackGroup<3>(first, second, levels, block, w);
}

// As AddShift of the gathers, of levels with a positive one.
[[gnu::always_inline]] inline __m512i SubtractShift(__m512i w, __mmask16 negative) {
  return _mm512_mask_sub_epi32(w, negative, w, _mm512_set1_epi8(2));
}

template <int kGroup>
[[gnu::always_inline]] inline void UnpackGroup(__m512i first, __m512i second, __m512i levels,
                                               const BlockI1& block, Weights& w) {
  const __mmask16 negative = _mm512_test_epi32_mask(LoadBytes(block.high[kGroup / 2]),
                                                    _mm512_set1_epi32(kGroup % 2 == 0 ? 8 : 128));
  w[2 * kGroup] = SubtractShift(Spread<kGroup>(first, levels), negative);
  w[2 * kGroup + 1] = SubtractShift(Spread<kGroup>(second, levels), negative);
}

[[gnu::always_inline]] inline void UnpackTernary(const BlockI1& block, const CodeTables& tables,
                                                 Weights& w) {
  const __m512i low = ByRows(block.low);
  // Groups 0 and 1 have the low and the high nibbles of high[0], 2 and 3 those of high[1].
  const __m512i nibbles = ByRows(block.high[0], block.high[1]);
  const __mmask64 high[3] = {_mm512_test_epi8_mask(nibbles, OfGroups(1, 16, 1, 16)),
                             _mm512_test_epi8_mask(nibbles, OfGroups(2, 32, 2, 32)),
                             _mm512_test_epi8_mask(nibbles, OfGroups(4, 64, 4, 64))};
  const __m512i levels = Load(tables.levels);
  const __m512i first = LookUp<11>(tables.halves[0], low, high);
  const __m512i second = LookUp<11>(tables.halves[1], low, high);
  UnpackGroup<0>(first, second, levels, block, w);
  UnpackGroup<1>(first, second, levels, block, w);
  UnpackGroup<2>(first, second, levels, block, w);
  UnpackGroup<3>(first, second, levels, block, w);
}

// The levels of 64 entries of 4 columns, of bytes with 4 bits for each column: `first` has columns
// 0 and 1, `second` 2 and 3. The entry at 16 p + 4 z + i becomes dword 4 p + i of w[z].
[[gnu::always_inline]] inline void Interleave(__m512i first, __m512i second, __m512i levels,
                                              __m512i* w) {
  const __m512i words[2] = {_mm512_unpacklo_epi8(first, second),
                            _mm512_unpackhi_epi8(first, second)};
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    // Bits of neighbours come in above the 4 that matter.
    const __m512i shifted = _mm512_srli_epi16(words[i], 4);
    w[2 * i] = _mm512_permutexvar_epi8(_mm512_unpacklo_epi8(words[i], shifted), levels);
    w[2 * i + 1] = _mm512_permutexvar_epi8(_mm512_unpackhi_epi8(words[i], shifted), levels);
  }
}

template <int kBits>
[[gnu::always_inline]] inline void UnpackFours(const BlockI3& block, const CodeTables& tables,
                                               Weights& w) {
  // Four rows of each column group beside each other, as Interleave wants them.
  const __m512i turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i fours = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.high));
  const __m512i rows = _mm512_permutexvar_epi32(fours, _mm512_castsi128_si512(bytes));
  const __m512i levels = Load(tables.levels);
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const __m512i low = _mm512_permutexvar_epi32(turn, Load(block.low[4 * h]));
    // Bit 4 h + z of dword z of each part.
    __mmask64 high[3] = {0, 0, 0};
    if constexpr (kBits == 9) {
      const __m512i four_bits = _mm512_broadcast_i32x4(
          _mm_setr_epi32(0x01010101 << 4 * h, 0x02020202 << 4 * h, 0x04040404 << 4 * h,
                         static_cast<int>(0x08080808u << 4 * h)));
      high[0] = _mm512_test_epi8_mask(rows, four_bits);
    }
    Interleave(LookUp<kBits>(tables.halves[0], low, high),
               LookUp<kBits>(tables.halves[1], low, high), levels, w + 4 * h);
#pragma GCC unroll 4
    for (int z = 0; z < 4; ++z) w[4 * h + z] = Negate(w[4 * h + z], block.signs[4 * h + z]);
  }
}

// The tables of a codebook. The reference is made once; what is asked each time is one byte.
template <Codebook kBook>
[[gnu::always_inline]] inline const CodeTables& Tables() {
  static const CodeTables& tables = CodeTablesOf(kBook);
  return tables;
}

struct Permutations {
  [[gnu::always_inline]] static void Unpack(const UnitI2XXS& unit, int b, Weights& w) {
    UnpackEights<8>(unit.blocks[b], Tables<Codebook::kIQ2XXS>(), w);
  }
  [[gnu::always_inline]] static void Unpack(const UnitI2XS& unit, int b, Weights& w) {
    UnpackEights<9>(unit.blocks[b], Tables<Codebook::kIQ2XS>(), w);
  }
  [[gnu::always_inline]] static void Unpack(const UnitI2S& unit, int b, Weights& w) {
    UnpackEights<10>(unit.blocks[b], Tables<Codebook::kIQ2S>(), w);
  }
  [[gnu::always_inline]] static void Unpack(const UnitI3XXS& unit, int b, Weights& w) {
    UnpackFours<8>(unit.blocks[b], Tables<Codebook::kIQ3XXS>(), w);
  }
  [[gnu::always_inline]] static void Unpack(const UnitI3S& unit, int b, Weights& w) {
    UnpackFours<9>(unit.blocks[b], Tables<Codebook::kIQ3S>(), w);
  }
  [[gnu::always_inline]] static void Unpack(const UnitI1& unit, int b, Weights& w) {
    UnpackTernary(unit.blocks[b], Tables<Codebook::kIQ1>(), w);
  }
};

}  // namespace

void I2XXSByPermutations(const MatmulArgs& args) {
  kCodes<PanelType::kI2XXS, UnitI2XXS, Permutations>(args);
}
void I2XSByPermutations(const MatmulArgs& args) {
  kCodes<PanelType::kI2XS, UnitI2XS, Permutations>(args);
}
void I2SByPermutations(const MatmulArgs& args) {
  kCodes<PanelType::kI2S, UnitI2S, Permutations>(args);
}
void I3XXSByPermutations(const MatmulArgs& args) {
  kCodes<PanelType::kI3XXS, UnitI3XXS, Permutations>(args);
}
void I3SByPermutations(const MatmulArgs& args) {
  kCodes<PanelType::kI3S, UnitI3S, Permutations>(args);
}
void I1ByPermutations(const MatmulArgs& args) {
  kCodes<PanelType::kI1, UnitI1, Permutations>(args);
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
