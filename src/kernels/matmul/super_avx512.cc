// The AVX-512 matmul of super-blocks: integer scales within 256 columns, activations in units of
// 128.
//
// Cost, in instructions of the two ports of the dots, of 32 columns of one token: 8 dots, and for
// the scales 2 (kQ3K, kQ4K), 3 (kQ5K, kI4XS), 6 (kQ6K, codebooks) or none (kQ2K, kT2), a 32-bit
// multiplication counted as two, as Intel's cores do it; unpacking is shared by the tokens of the
// tile. That bounds the share of the peak that a type can reach.

#include <span>
#include <type_traits>

#include "base/check.h"
#include "kernels/isa/cpu.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/dots_avx512.h"
#include "kernels/matmul/low_bit_avx512.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/ways.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/matmul/matmul_generic.h"
#include "kernels/matmul/super_avx512_generic.h"
#include "kernels/matmul/unpacked_avx512_generic.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

// The sums of 32 columns of the activations of a token, for pairs of blocks, as the tile has them.
template <int MR>
struct PairsOfTile {
  const Block128Tile<MR>& a;
  int first;

  [[gnu::always_inline]] PairsOfTile(const Block128Tile<MR>& tile, int token)
      : a(tile), first(token) {}
  [[gnu::always_inline]] const int32_t* At(int pair, int m) const {
    return &a.sum_pairs[pair][first + m];
  }
};

// Those of 16 columns, for the halves of each block.
template <int MR, int N>
struct PairsOfHalves {
  alignas(64) int32_t pairs[4][N == 1 ? 1 : 16];

  [[gnu::always_inline]] PairsOfHalves(const Block128Tile<MR>& tile, int token) {
    if constexpr (MR == 1) {
      // Those of a token alone stand side by side. As PairSums.
      const __m256i corr = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tile.corr32));
      const __m256i sums = _mm256_srai_epi32(_mm256_sub_epi32(_mm256_setzero_si256(), corr), 5);
      _mm_store_si128(reinterpret_cast<__m128i*>(pairs), _mm256_cvtepi32_epi16(sums));
    } else {
      PairSums<N>(tile, token, pairs);
    }
  }
  // The sum over the blocks of half a unit of their pairs times those of each row.
  [[gnu::always_inline]] __m512i Times(const __m512i (&rows)[8], int half, int m) const {
    __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) sum = AddPairs(sum, rows[4 * half + b], &pairs[b][m]);
    return sum;
  }
};

// What kQ4K and kQ5K have in common.
template <int MR>
struct WideScales {
  static constexpr bool kHasMin = true;
  template <int>
  using Pairs = PairsOfTile<MR>;

  [[gnu::always_inline]] explicit WideScales(const PackedScales6& packed) : scales(packed) {}

  [[gnu::always_inline]] __m512i Minimums(const PairsOfTile<MR>& pairs, int half, int m) const {
    const __m512i first = AddPairs(_mm512_setzero_si512(), scales.mins[2 * half], pairs.At(0, m));
    return AddPairs(first, scales.mins[2 * half + 1], pairs.At(1, m));
  }

  Scales6 scales;
};

// One scale for both halves. A dot product of 16 columns of kQ4K is at most 15 * 127 * 16 = 30480
// and fits int16: vpdpwssd multiplies it with the scale and adds, in place of a 32-bit
// multiplication, which takes two instructions on Intel's cores, and an addition. The high int16 of
// its operands meet zeros.
struct ByPairs {
  static constexpr int kScales = 1;
  __m512i scale;

  [[gnu::always_inline]] __m512i Add(__m512i sum, __m512i low, __m512i high) const {
    return AddPairs(AddPairs(sum, low, scale), high, scale);
  }
};

template <int MR>
struct Q4KByPairs : WideScales<MR> {
  using Unit = UnitQ4K;

  [[gnu::always_inline]] Q4KByPairs(const Unit& unit) : WideScales<MR>(unit.scales) {}

  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    UnpackNibbles(unit.nibbles[b], w);
    AddHalves<0>(w, ByPairs{this->scales.ScaleOf(b)}, a, b, first, sums);
  }
};

// For tiles of 8 tokens whose sums are integers there are registers for all of them: about 4 %
// faster on Zen 4 than by four.
template <int MR>
inline constexpr int kProductChains = MR == 8 ? 8 : kChains<MR>;

// sums[j] += the dot products of the 32 columns w with the tokens from `first` on, times scale: one
// 32-bit multiplication, which is one instruction of the dots' ports on Zen 4, and an addition,
// which other ports do there.
template <int MR, int N>
[[gnu::always_inline]] inline void AddProducts(const Weights& w, __m512i scale,
                                               const Block128Tile<MR>& a, int b, int first,
                                               __m512i (&sums)[N]) {
  constexpr int kChainTokens = kProductChains<N>;
#pragma GCC unroll 16
  for (int m = 0; m < N; m += kChainTokens) {
    __m512i dots[kChainTokens];
#pragma GCC unroll 8
    for (int j = 0; j < kChainTokens; ++j) dots[j] = _mm512_setzero_si512();
    AddDots<64>(w, BlockOf(a, b % 4, first + m), dots);
#pragma GCC unroll 8
    for (int j = 0; j < kChainTokens; ++j) {
      sums[m + j] = AddTo(sums[m + j], _mm512_mullo_epi32(dots[j], scale));
    }
  }
}

// How the dot product of a block is added up: in one chain, or in one for each half and an addition
// more. The scheduler of Zen 5 sees less far ahead than chains of 8 for two dots a cycle need, and
// other ports do the addition there.
enum class Dots : uint8_t { kWhole, kInHalves };

// One scale for the sum of both halves.
struct BySum {
  static constexpr int kScales = 1;
  __m512i scale;

  [[gnu::always_inline]] __m512i Add(__m512i sum, __m512i low, __m512i high) const {
    return AddTo(sum, _mm512_mullo_epi32(_mm512_add_epi32(low, high), scale));
  }
};

template <Dots kDots, int MR, int N>
[[gnu::always_inline]] inline void AddProductsBy(const Weights& w, __m512i scale,
                                                 const Block128Tile<MR>& a, int b, int first,
                                                 __m512i (&sums)[N]) {
  if constexpr (kDots == Dots::kWhole) {
    AddProducts(w, scale, a, b, first, sums);
  } else {
    AddHalves<0>(w, BySum{scale}, a, b, first, sums);
  }
}

template <int MR, Dots kDots>
struct Q4KByProducts : WideScales<MR> {
  using Unit = UnitQ4K;

  [[gnu::always_inline]] Q4KByProducts(const Unit& unit) : WideScales<MR>(unit.scales) {}

  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    UnpackNibbles(unit.nibbles[b], w);
    AddProductsBy<kDots>(w, this->scales.ScaleOf(b), a, b, first, sums);
  }
};

// As kQ4K, but the dot products do not fit int16.
template <int MR, Dots kDots>
struct Q5KPolicy : WideScales<MR> {
  using Unit = UnitQ5K;

  [[gnu::always_inline]] Q5KPolicy(const Unit& unit) : WideScales<MR>(unit.scales) {}

  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    UnpackFive(unit.blocks[b], w);
    AddProductsBy<kDots>(w, this->scales.ScaleOf(b), a, b, first, sums);
  }
};

// kI4XS. The values have an offset of 128; what it adds to all blocks of half a unit is where the
// sums start, so that no dot product starts with a part of it.
template <int MR, Dots kDots>
struct I4XSPolicy {
  using Unit = UnitI4XS;
  static constexpr bool kHasMin = false;
  template <int>
  using Pairs = PairsOfTile<MR>;

  [[gnu::always_inline]] I4XSPolicy(const Unit& unit) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m512i pair = PairOf(LoadBytes(unit.scales[2 * j]), LoadBytes(unit.scales[2 * j + 1]));
      offsets[j] = _mm512_sub_epi16(_mm512_setzero_si512(), _mm512_slli_epi16(pair, 7));
    }
  }

  [[gnu::always_inline]] __m512i Start(const PairsOfTile<MR>& pairs, int half, int m) const {
    const __m512i first = AddPairs(_mm512_setzero_si512(), offsets[2 * half], pairs.At(0, m));
    return AddPairs(first, offsets[2 * half + 1], pairs.At(1, m));
  }
  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    UnpackValues(unit.nibbles[b], tensor::kIQ4Values, w);
    AddProductsBy<kDots>(w, LoadBytes(unit.scales[b]), a, b, first, sums);
  }

  __m512i offsets[4];  // -128 * scale, int16 pairs (block 2 j, block 2 j + 1)
};

// sums[j] += the dot products of the 32 columns w with the tokens from `first` on.
template <int MR, int N>
[[gnu::always_inline]] inline void AddToSums(const Weights& w, const Block128Tile<MR>& a, int b,
                                             int first, __m512i (&sums)[N]) {
  AddDots<64>(w, BlockOf(a, b % 4, first), sums);
}

// kQ2K. A weight times its scale is at most 3 * 15 and fits a byte: so the scales are multiplied
// with the weights, once for all tokens, two bytes a 16-bit multiplication, since no byte carries
// into its neighbour. That is 8 multiplications, of a token's sums it would be 2: cheaper from 4
// tokens on.
template <int MR>
struct Q2KPolicy {
  using Unit = UnitQ2K;
  static constexpr bool kHasMin = true;
  template <int N>
  using Pairs = PairsOfHalves<MR, N>;

  [[gnu::always_inline]] Q2KPolicy(const Unit& unit) {
#pragma GCC unroll 8
    for (int b = 0; b < 8; ++b) min_pairs[b] = MinimumPairs(unit.scales[b]);
  }

  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    UnpackBlock(unit.blocks[b], w);
    const HalfScales scales = HalfScalesOf(unit, b);
    if constexpr (N < 4) {
      AddHalves<0>(w, ByHalfScales{scales}, a, b, first, sums);
    } else {
      const __m512i low = Twice(scales.low);
      const __m512i high = Twice(scales.high);
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) w[k] = _mm512_mullo_epi16(w[k], k < 4 ? low : high);
      AddToSums(w, a, b, first, sums);
    }
  }
  template <int N>
  [[gnu::always_inline]] __m512i Minimums(const PairsOfHalves<MR, N>& pairs, int half,
                                          int m) const {
    return pairs.Times(min_pairs, half, m);
  }

  __m512i min_pairs[8];  // of the halves of each block
};

// kQ3K. Weights are 0..7, with an offset of 4, so that a dot product of 16 columns is at most
// 7 * 127 * 16 = 14224 and fits int16: as ByPairs. The sums start at what the offset adds.
struct ByHalfPairs {
  static constexpr int kScales = 2;
  __m512i low_scale;
  __m512i high_scale;

  [[gnu::always_inline]] explicit ByHalfPairs(const HalfScales& scales)
      : low_scale(_mm512_and_si512(scales.low, _mm512_set1_epi32(0xffff))),
        high_scale(_mm512_and_si512(scales.high, _mm512_set1_epi32(0xffff))) {}

  [[gnu::always_inline]] __m512i Add(__m512i sum, __m512i low, __m512i high) const {
    return AddPairs(AddPairs(sum, low, low_scale), high, high_scale);
  }
};
template <int MR>
struct Q3KByPairs {
  using Unit = UnitQ3K;
  static constexpr bool kHasMin = false;
  template <int N>
  using Pairs = PairsOfHalves<MR, N>;

  [[gnu::always_inline]] Q3KByPairs(const Unit& unit) {
#pragma GCC unroll 8
    for (int b = 0; b < 8; ++b) {
      const HalfScales scales = HalfScalesOf(unit, b);
      const __m512i pair = PairOf(scales.low, scales.high);
      offsets[b] = _mm512_sub_epi16(_mm512_setzero_si512(), _mm512_slli_epi16(pair, 2));
    }
  }

  template <int N>
  [[gnu::always_inline]] __m512i Start(const PairsOfHalves<MR, N>& pairs, int half, int m) const {
    return pairs.Times(offsets, half, m);
  }
  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    UnpackThree(unit.blocks[b], w);
    AddHalves<0>(w, ByHalfPairs{HalfScalesOf(unit, b)}, a, b, first, sums);
  }

  __m512i offsets[8];  // -4 * scale, of the halves of each block
};

// How blocks with a scale for each 16 columns are unpacked; codebooks by gathers.
struct Blocks {
  [[gnu::always_inline]] static void Unpack(const auto& unit, int b, Weights& w) {
    UnpackBlock(unit, b, w);
  }
};

// kT2: no integer scales, so the dot products add up in the sums.
template <int MR>
struct T2Policy {
  using Unit = UnitT2;
  static constexpr bool kHasMin = false;
  template <int>
  using Pairs = PairsOfTile<MR>;

  [[gnu::always_inline]] T2Policy(const Unit&) {}

  // Weights have an offset of 1.
  [[gnu::always_inline]] __m512i Start(const PairsOfTile<MR>& pairs, int /*half*/, int m) const {
    const __m512i minus = _mm512_set1_epi16(-1);
    const __m512i first = AddPairs(_mm512_setzero_si512(), minus, pairs.At(0, m));
    return AddPairs(first, minus, pairs.At(1, m));
  }

  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    UnpackBlock(unit.blocks[b], w);
    AddToSums(w, a, b, first, sums);
  }
};

template <int MR>
using Q4KPairs16 = SuperKernel<Q4KByPairs<MR>, MR>;
template <int MR>
using Q4KPairs8 = SuperKernel<Q4KByPairs<MR>, MR, kEight<MR>>;
template <int MR>
using Q4KProducts16 = SuperKernel<Q4KByProducts<MR, Dots::kWhole>, MR>;
template <int MR>
using Q4KProducts8 = SuperKernel<Q4KByProducts<MR, Dots::kWhole>, MR, kEight<MR>>;
template <int MR>
using Q4KHalves16 = SuperKernel<Q4KByProducts<MR, Dots::kInHalves>, MR>;
template <int MR>
using Q5KBy16 = SuperKernel<Q5KPolicy<MR, Dots::kWhole>, MR>;
template <int MR>
using Q5KBy8 = SuperKernel<Q5KPolicy<MR, Dots::kWhole>, MR, kEight<MR>>;
template <int MR>
using Q5KHalves16 = SuperKernel<Q5KPolicy<MR, Dots::kInHalves>, MR>;
template <int MR>
using Q6KBy16 = SuperKernel<HalvesPolicy<UnitQ6K, Blocks, MR>, MR>;
template <int MR>
using Q6KBy8 = SuperKernel<HalvesPolicy<UnitQ6K, Blocks, MR>, MR, kEight<MR>>;
template <int MR>
using I4XSBy16 = SuperKernel<I4XSPolicy<MR, Dots::kWhole>, MR>;
template <int MR>
using I4XSBy8 = SuperKernel<I4XSPolicy<MR, Dots::kWhole>, MR, kEight<MR>>;
template <int MR>
using I4XSHalves16 = SuperKernel<I4XSPolicy<MR, Dots::kInHalves>, MR>;
template <int MR>
using Q2KBy16 = SuperKernel<Q2KPolicy<MR>, MR>;
template <int MR>
using Q2KBy8 = SuperKernel<Q2KPolicy<MR>, MR, kEight<MR>>;
template <int MR>
using Q3KBy16 = SuperKernel<HalvesPolicy<UnitQ3K, Blocks, MR>, MR>;
template <int MR>
using Q3KBy8 = SuperKernel<HalvesPolicy<UnitQ3K, Blocks, MR>, MR, kEight<MR>>;
// Fewer tokens do not pay for the offsets.
template <int MR>
using Q3KPolicy = std::conditional_t<(MR < 4), HalvesPolicy<UnitQ3K, Blocks, MR>, Q3KByPairs<MR>>;
template <int MR>
using Q3KPairs16 = SuperKernel<Q3KPolicy<MR>, MR>;
template <int MR>
using Q3KPairs8 = SuperKernel<Q3KPolicy<MR>, MR, kEight<MR>>;
template <int MR>
using T2Kernel = SuperKernel<T2Policy<MR>, MR>;

// Weights unpacked once, and their ways.
template <typename Form, int kPanels, typename Unit>
constexpr MatmulFn kOnce = UnpackedOnce<Form, Unit, Blocks, kMultiplyUnpacked<Form, kPanels>>;
constexpr MatmulWay kProductWays[] = {
    {"products, a panel", kOnce<ScaledByProducts, 1, UnitQ6K>},
    {"products, two panels", kOnce<ScaledByProducts, 2, UnitQ6K>}};
constexpr MatmulWay kUnpackedQ6KWays[] = {kProductWays[0],
                                          kProductWays[1],
                                          {"pairs, a panel", kOnce<ScaledByPairs, 1, UnitQ6K>},
                                          {"pairs, two panels", kOnce<ScaledByPairs, 2, UnitQ6K>}};
constexpr MatmulWay kUnpackedQ3KWays[] = {{"a panel", kOnce<ScaledWeights, 1, UnitQ3K>},
                                          {"two panels", kOnce<ScaledWeights, 2, UnitQ3K>}};

// The fastest of them.
template <PanelType kType>
void MultiplyOnce(const MatmulArgs& args) {
  UnpackedWay(kType).matmul(args);
}

// A type of which blocks are unpacked quickly.
template <PanelType kType, template <int> typename Kernel>
constexpr MatmulFn kQuickly = OnceForMany<kFewTokens, kByTiles<kType, Kernel>, MultiplyOnce<kType>>;
// Constants: nothing of the standard library is called inside of the region.
constexpr MatmulWay kQ4KWays[] = {{"pairs, 16 tokens", kByTiles<PanelType::kQ4K, Q4KPairs16>},
                                  {"pairs, 8 tokens", kByTiles<PanelType::kQ4K, Q4KPairs8>},
                                  {"products, 16 tokens", kByTiles<PanelType::kQ4K, Q4KProducts16>},
                                  {"products, 8 tokens", kByTiles<PanelType::kQ4K, Q4KProducts8>},
                                  {"halves, 16 tokens", kByTiles<PanelType::kQ4K, Q4KHalves16>}};
constexpr MatmulWay kQ5KWays[] = {{"16 tokens", kByTiles<PanelType::kQ5K, Q5KBy16>},
                                  {"8 tokens", kByTiles<PanelType::kQ5K, Q5KBy8>},
                                  {"halves, 16 tokens", kByTiles<PanelType::kQ5K, Q5KHalves16>}};
constexpr MatmulWay kQ6KWays[] = {{"16 tokens", kQuickly<PanelType::kQ6K, Q6KBy16>},
                                  {"8 tokens", kQuickly<PanelType::kQ6K, Q6KBy8>}};
constexpr MatmulWay kI4XSWays[] = {{"16 tokens", kByTiles<PanelType::kI4XS, I4XSBy16>},
                                   {"8 tokens", kByTiles<PanelType::kI4XS, I4XSBy8>},
                                   {"halves, 16 tokens", kByTiles<PanelType::kI4XS, I4XSHalves16>}};
constexpr MatmulWay kQ2KWays[] = {{"16 tokens", kByTiles<PanelType::kQ2K, Q2KBy16>},
                                  {"8 tokens", kByTiles<PanelType::kQ2K, Q2KBy8>}};
constexpr MatmulWay kQ3KWays[] = {{"16 tokens", kQuickly<PanelType::kQ3K, Q3KBy16>},
                                  {"8 tokens", kQuickly<PanelType::kQ3K, Q3KBy8>},
                                  {"pairs, 16 tokens", kQuickly<PanelType::kQ3K, Q3KPairs16>},
                                  {"pairs, 8 tokens", kQuickly<PanelType::kQ3K, Q3KPairs8>}};
constexpr MatmulWay kI2XXSWays[] = {{"gathers", kCodes<PanelType::kI2XXS, UnitI2XXS, Blocks>},
                                    {"permutations", I2XXSByPermutations}};
constexpr MatmulWay kI2XSWays[] = {{"gathers", kCodes<PanelType::kI2XS, UnitI2XS, Blocks>},
                                   {"permutations", I2XSByPermutations}};
constexpr MatmulWay kI2SWays[] = {{"gathers", kCodes<PanelType::kI2S, UnitI2S, Blocks>},
                                  {"permutations", I2SByPermutations}};
constexpr MatmulWay kI3XXSWays[] = {{"gathers", kCodes<PanelType::kI3XXS, UnitI3XXS, Blocks>},
                                    {"permutations", I3XXSByPermutations}};
constexpr MatmulWay kI3SWays[] = {{"gathers", kCodes<PanelType::kI3S, UnitI3S, Blocks>},
                                  {"permutations", I3SByPermutations}};
constexpr MatmulWay kI1Ways[] = {{"gathers", kCodes<PanelType::kI1, UnitI1, Blocks>},
                                 {"permutations", I1ByPermutations}};
constexpr MatmulWay kT2Ways[] = {{"", kByTiles<PanelType::kT2, T2Kernel>}};

}  // namespace

void TokenOfQ4K(const TileArgs& args) { Q4KProducts8<1>::Run(args); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"

namespace skald::kernels::avx512 {
namespace {

// Those of a codebook that the CPU has.
std::span<const MatmulWay> Codes(std::span<const MatmulWay> ways) {
  return CpuHasBytePermutations() ? ways : ways.first(1);
}

}  // namespace

std::span<const MatmulWay> UnpackedWays(PanelType type) {
  if (type == PanelType::kQ3K) return kUnpackedQ3KWays;
  return kUnpackedQ6KWays;
}

MatmulWay UnpackedWay(PanelType type) {
  // Timed once, as in WayFor.
  static const MatmulWay of_q6k = FastestOf(PanelType::kQ6K, kUnpackedQ6KWays);
  static const MatmulWay of_q3k = FastestOf(PanelType::kQ3K, kUnpackedQ3KWays);
  return type == PanelType::kQ3K ? of_q3k : of_q6k;
}

void MultiplyUnpacked(const TileArgs& args) {
  static const MatmulWay fastest = FastestOf(PanelType::kQ6K, kProductWays);
  const bool by_two = fastest.matmul == kProductWays[1].matmul;
  (by_two ? kMultiplyUnpacked<ScaledByProducts, 2> : kMultiplyUnpacked<ScaledByProducts, 1>)(args);
}

std::span<const MatmulWay> SuperWays(PanelType type) {
  switch (type) {
    case PanelType::kQ4K: return kQ4KWays;
    case PanelType::kQ5K: return kQ5KWays;
    case PanelType::kQ6K: return kQ6KWays;
    case PanelType::kI4XS: return kI4XSWays;
    case PanelType::kQ2K: return kQ2KWays;
    case PanelType::kQ3K: return kQ3KWays;
    case PanelType::kI2XXS: return Codes(kI2XXSWays);
    case PanelType::kI2XS: return Codes(kI2XSWays);
    case PanelType::kI2S: return Codes(kI2SWays);
    case PanelType::kI3XXS: return Codes(kI3XXSWays);
    case PanelType::kI3S: return Codes(kI3SWays);
    case PanelType::kI1: return Codes(kI1Ways);
    case PanelType::kT2: return kT2Ways;
    default: return {};
  }
}

}  // namespace skald::kernels::avx512
