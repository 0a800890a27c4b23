/// How GGUF files spell the names of tensors and configuration keys.
#pragma once

#include <string>
#include <string_view>

#include "model/weights.h"

namespace skald::load {

/// The name of a slot's tensor, e.g. "blk.3.attn_q.weight".
std::string TensorName(const model::WeightSlot& slot);

}  // namespace skald::load
