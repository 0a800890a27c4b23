#include "kernels/isa/vec_avx512.h"
#include "kernels/scan/variants.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/scan/scan_generic.h"
// clang-format on

namespace skald::kernels::avx512 {

void Scan(const ScanArgs& args) { ScanGeneric<F32x16>(args); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
