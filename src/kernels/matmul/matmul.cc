#include "kernels/matmul/matmul.h"

#include "base/check.h"
#include "kernels/matmul/variants.h"

namespace skald::kernels {

MatmulFn MatmulFor(Isa isa, PanelType type) {
  switch (isa) {
    case Isa::kScalar: return scalar::MatmulFor(type);
    case Isa::kAvx2: return scalar::MatmulFor(type);
    case Isa::kAvx512: return scalar::MatmulFor(type);
  }
  UNREACHABLE();
}

}  // namespace skald::kernels
