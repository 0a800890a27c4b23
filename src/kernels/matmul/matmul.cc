#include "kernels/matmul/matmul.h"

#include <array>

#include "base/check.h"
#include "kernels/matmul/variants.h"

namespace skald::kernels {

// ForTileSize (matmul_generic.h) has a case for each.
static_assert(kTileSizes == std::array{16, 12, 8, 6, 4, 3, 2, 1});

MatmulFn MatmulFor(Isa isa, PanelType type) {
  switch (isa) {
    case Isa::kScalar: return scalar::MatmulFor(type);
    case Isa::kAvx2: return avx2::MatmulFor(type);
    case Isa::kAvx512: return avx512::MatmulFor(type);
    case Isa::kAmx: return amx::MatmulFor(type);
  }
  UNREACHABLE();
}

}  // namespace skald::kernels
