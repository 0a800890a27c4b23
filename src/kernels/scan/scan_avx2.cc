#include "kernels/isa/vec_avx2.h"
#include "kernels/scan/variants.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/scan/scan_generic.h"
// clang-format on

namespace skald::kernels::avx2 {

void Scan(const ScanArgs& args) { ScanGeneric<F32x16>(args); }

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
