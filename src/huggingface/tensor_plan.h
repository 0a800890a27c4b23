/// TensorPlan: which stored tensors make up which of ours.
#pragma once

#include <span>
#include <vector>

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/planned_tensor.h"
#include "skald/status.h"

namespace skald::huggingface {

/// Plans all tensors of a folder, in the order of their names. Errors: kBadModel for shapes that
/// contradict each other, experts that are missing; kUnsupported for tensors that have no place.
Result<std::vector<PlannedTensor>> PlanTensors(const Config& config,
                                               const Architecture& architecture,
                                               std::span<const Stored> stored);

}  // namespace skald::huggingface
