/// All operations that are written once, over a vector type.
///
/// Include inside a target region, as the headers below (isa/vec_avx512.h says how); what they need
/// of others stands before it.
#pragma once

#include "kernels/activation/activation_generic.h"
#include "kernels/conv/conv_generic.h"
#include "kernels/delta/delta_generic.h"
#include "kernels/norm/norm_generic.h"
#include "kernels/rope/rope_generic.h"
#include "kernels/scan/scan_generic.h"
