/// The variants behind MatmulFor. Internal to matmul/.
#pragma once

#include "kernels/matmul/matmul.h"

namespace skald::kernels {

namespace scalar {
MatmulFn MatmulFor(PanelType type);
}  // namespace scalar

namespace avx2 {
MatmulFn MatmulFor(PanelType type);
}  // namespace avx2

namespace avx512 {
MatmulFn MatmulFor(PanelType type);
}  // namespace avx512

}  // namespace skald::kernels
