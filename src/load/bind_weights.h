/// Binding and packing: from the tensors of a file to the weights of a network.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "formats/gguf.h"
#include "model/config.h"
#include "model/weights.h"
#include "skald/status.h"

namespace skald::load {

/// The dimensions of a tensor for people, in the order of the file: "4096 x 32000".
std::string ShapeText(const formats::TensorInfo& tensor);

/// A slot of the network and the tensor that fills it.
struct Binding {
  model::WeightSlot slot;
  const formats::TensorInfo* tensor;
};

/// Finds the tensor of every slot and checks its shape and type.
/// Errors: kBadModel with all missing tensors, or the one that is wrong; kUnsupported for a tensor
/// that no slot takes, because leaving it out would change the model's answers.
Result<std::vector<Binding>> BindTensors(const model::ModelConfig& config,
                                         const formats::TensorDirectory& tensors);

/// Bytes of the packed matrices of `bindings`.
int64_t PackedBytes(const std::vector<Binding>& bindings);

/// Called from time to time, by the calling thread, with bytes of the file done and in all.
using Progress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

/// Reads every bound tensor and packs it. Matrices go to panels in one buffer, by all threads of
/// the pool; vectors to floats. Rope factors are returned in `config->rope.factors`. Errors: kIo
/// (also if the file shrank since it was opened), kResourceExhausted.
Result<model::Weights> PackWeights(const formats::GgufModel& file,
                                   const std::vector<Binding>& bindings, ThreadPool& pool,
                                   const Progress& progress, model::ModelConfig* config);

}  // namespace skald::load
