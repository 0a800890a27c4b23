/// What the AVX-512 matmuls share. Templates over types of one instruction set only, so they belong
/// to the target region that is open where this is included (see isa/vec_avx512.h).
#pragma once

#include "base/check.h"
#include "kernels/matmul/variants.h"

namespace skald::kernels {

/// Runs `Kernel<MR>::Run(args)` for MR = args.tokens: the tile sizes are constants of the kernels.
/// kMost: no tile has more, so that what is never run is not compiled.
template <template <int> typename Kernel, int kMost = kTileTokens>
void ForTileSize(const TileArgs& args) {
  const auto run = [&]<int kTokens>() {
    if constexpr (kTokens <= kMost) {
      Kernel<kTokens>::Run(args);
    } else {
      UNREACHABLE();
    }
  };
  switch (args.tokens) {
    case 1: run.template operator()<1>(); return;
    case 2: run.template operator()<2>(); return;
    case 3: run.template operator()<3>(); return;
    case 4: run.template operator()<4>(); return;
    case 5: run.template operator()<5>(); return;
    case 6: run.template operator()<6>(); return;
    case 7: run.template operator()<7>(); return;
    case 8: run.template operator()<8>(); return;
    case 9: run.template operator()<9>(); return;
    case 10: run.template operator()<10>(); return;
    case 12: run.template operator()<12>(); return;
    case 14: run.template operator()<14>(); return;
    case 15: run.template operator()<15>(); return;
    case 16: run.template operator()<16>(); return;
    default: UNREACHABLE();
  }
}

/// A MatmulFn that runs `Kernel` on every tile.
template <PanelType kType, template <int> typename Kernel, int kMost = kTileTokens>
constexpr MatmulFn kByTiles =
    EveryTile<kType, ForTileSize<Kernel, kMost>, avx512::ReadAheadFor<kType>>;

}  // namespace skald::kernels
