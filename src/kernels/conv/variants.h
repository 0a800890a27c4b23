/// The specification of the functions in conv.h, for isa/scalar.cc. The vector variants are the
/// templates of conv_generic.h.
#pragma once

#include "kernels/conv/conv.h"

namespace skald::kernels {

namespace scalar {
void Conv(const ConvArgs& args);
}  // namespace scalar

}  // namespace skald::kernels
