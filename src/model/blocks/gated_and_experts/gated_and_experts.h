/// GatedAndExperts: a gated feed-forward that every row uses, and a mixture beside it, each with
/// norms of its own (Gemma 4 26B-A4B, 2026).
///
///     gated_output_norm(gated(h)) + expert_output_norm(experts(expert_norm(x)))
///
/// x is the residual stream, h what the layer's norm makes of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/blocks/experts/experts.h"
#include "model/blocks/gated/gated.h"
#include "model/norm.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

struct GatedAndExperts {
  Gated gated = {};
  Norm gated_output_norm = {};
  Norm expert_norm = {};
  Experts experts = {};
  Norm expert_output_norm = {};
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const GatedAndExperts&) {
  return "feed-forward and experts";
}

/// Checks the numbers. Errors: kBadModel.
Status Validate(const GatedAndExperts& both);

/// Leaves a rank its rows. Errors: as of Experts.
Status Split(const Rank& rank, GatedAndExperts& both);

/// Its tensors.
void Declare(GatedAndExperts& both, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const GatedAndExperts& both, const StepLimits& limits);

/// Computes the block for the rows of `input` into workspace.projected.
void Run(const GatedAndExperts& both, const Input& input, const Context& context);

/// Counts what Run does for `rows` rows.
void AddWork(const GatedAndExperts& both, int64_t rows, StepWork& work);

}  // namespace skald::model
