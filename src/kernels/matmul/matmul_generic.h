/// What the AVX-512 matmuls share. Templates over types of one instruction set only, so they belong
/// to the target region that is open where this is included (see isa/vec_avx512.h).
#pragma once

#include "base/check.h"
#include "kernels/matmul/variants.h"

namespace skald::kernels {

/// Runs `Kernel<MR>::Run(args)` for MR = args.tokens: the tile sizes are constants of the kernels.
template <template <int> typename Kernel>
void ForTileSize(const TileArgs& args) {
  switch (args.tokens) {
    case 1: Kernel<1>::Run(args); return;
    case 2: Kernel<2>::Run(args); return;
    case 3: Kernel<3>::Run(args); return;
    case 4: Kernel<4>::Run(args); return;
    case 5: Kernel<5>::Run(args); return;
    case 6: Kernel<6>::Run(args); return;
    case 7: Kernel<7>::Run(args); return;
    case 8: Kernel<8>::Run(args); return;
    case 9: Kernel<9>::Run(args); return;
    case 10: Kernel<10>::Run(args); return;
    case 12: Kernel<12>::Run(args); return;
    case 14: Kernel<14>::Run(args); return;
    case 15: Kernel<15>::Run(args); return;
    case 16: Kernel<16>::Run(args); return;
    default: UNREACHABLE();
  }
}

/// A MatmulFn that runs `Kernel` on every tile.
template <PanelType kType, template <int> typename Kernel>
constexpr MatmulFn kByTiles = EveryTile<kType, ForTileSize<Kernel>, avx512::ReadAheadFor<kType>>;

}  // namespace skald::kernels
