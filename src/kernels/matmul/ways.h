/// Ways: inner loops for one panel type on one instruction set, of which the fastest is chosen.
///
/// All ways give the same bits. They differ in how they load the ports and registers of a core. No
/// document of a CPU says which is the fastest: a 32-bit multiplication is one instruction of the
/// ports of the dots on AMD's cores and two on Intel's. So they are timed where they will run.
#pragma once

#include <span>
#include <string_view>

#include "base/aligned_buffer.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pack/panel.h"

namespace skald::kernels {

/// One way. `name` says what is special about it, and is empty where no CPU has another; constant.
struct MatmulWay {
  std::string_view name;
  MatmulFn matmul = nullptr;
};

/// The fastest of `ways`, of which there is at least one, all for panels of `type`; the first where
/// there is only one, or no memory to try them. Requires a CPU that can run them. Any thread. Some
/// 200 us a way, so keep the answer: a process may ask once for each type.
MatmulWay FastestOf(PanelType type, std::span<const MatmulWay> ways);

/// What loops are timed with, as weights and as activations of any type: a byte, repeated, that is
/// a plain number as float, half and power of two (MXFP4), and so is what comes of multiplying it:
/// nothing denormal, infinite or NaN, whose arithmetic could take longer. Errors: no memory.
Result<AlignedBuffer> PlainBuffer(int64_t bytes);

}  // namespace skald::kernels
