/// ShortConv: a gated short convolution, the mixer of most layers of LFM2 (Liquid AI 2025).
///
///     O * (C . conv(B . X)),  [B, C, X] = I * h
///
/// Between steps a sequence carries the last taps - 1 rows of B . X.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"
#include "model/rank.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Sizes are in elements.
struct ShortConv {
  int64_t width = 0;  ///< of the residual stream, and channels of the convolution
  int64_t taps = 0;   ///< rows that an output depends on, its own included
  RowPart rows = {};  ///< of channels and of the output matrix, those of a rank

  kernels::PackedMatrix input = {};   ///< [3 * width][width]: B, C, X
  std::vector<float> weights = {};    ///< [width][taps], the present row last
  kernels::PackedMatrix output = {};  ///< [width][width]

  /// Channels of this rank, and rows of its output matrix.
  RowPart Part() const { return PartOf(rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const ShortConv&) { return "short convolution"; }

/// Checks the numbers. Errors: kBadModel.
Status Validate(const ShortConv& conv, std::span<const Rope> ropes);

/// Leaves a rank panels of channels, with their states. Errors: kUnsupported for more ranks than
/// panels.
Status Split(const Rank& rank, ShortConv& conv);

/// Its tensors.
void Declare(ShortConv& conv, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const ShortConv& conv, const StepLimits& limits);

/// What it keeps of every position: nothing.
kv::KvShape Cache(const ShortConv& conv);

/// Floats that it carries from row to row.
int64_t StateFloats(const ShortConv& conv);

/// As Gqa's. The states of all sequences of the step are those behind their last rows afterwards.
void Run(const ShortConv& conv, const Input& input, const MixerStep& step, const Context& context);

/// Counts what Run does.
void AddWork(const ShortConv& conv, const MixerShape& shape, StepWork& work);

}  // namespace skald::model
