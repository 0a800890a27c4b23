/// What the sets of this architecture begin with: the functions of a lesser one.
#pragma once

#include "kernels/kernels.h"

namespace skald::kernels {

namespace avx2 {
void Install(KernelTable& table);
}
namespace avx512 {
void Install(KernelTable& table);
}

}  // namespace skald::kernels
