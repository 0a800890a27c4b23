/// Workspace: every buffer a forward pass writes, taken once from the limits of the engine. A step
/// allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "kernels/quantize/quantize.h"
#include "model/config.h"

namespace skald::model {

/// The largest step a workspace has room for.
struct StepLimits {
  int64_t rows = 1;        ///< rows (tokens) of a step
  int64_t logit_rows = 1;  ///< rows of a step whose logits are wanted
  int threads = 1;         ///< workers of the pool
};

/// Row-major float buffers, one row per row of the step; widths are padded to whole panels (16).
/// Names say what a buffer holds between the blocks; see transformer.cc for the flow.
class Workspace {
 public:
  /// Errors: kResourceExhausted with the number of bytes.
  static Result<Workspace> Create(const ModelConfig& config, const StepLimits& limits);

  /// A matrix of floats in the workspace.
  struct Rows {
    float* data = nullptr;
    int64_t stride = 0;  ///< floats from one row to the next
    float* row(int64_t index) const { return data + index * stride; }
  };

  Rows residual;   ///< [rows][embedding]: the residual stream
  Rows normed;     ///< [rows][embedding]: input of a block after its norm; at the end hidden rows
  Rows query;      ///< [rows][heads * key_dim]
  Rows key;        ///< [rows][kv_heads * key_dim]
  Rows value;      ///< [rows][kv_heads * value_dim]
  Rows attention;  ///< [rows][heads * value_dim]
  Rows gate;       ///< [rows][feed_forward]; then the SwiGLU product
  Rows up;         ///< [rows][feed_forward]
  Rows projected;  ///< [rows][embedding]: output of a block before it is added to the residual
  Rows logits;     ///< [logit_rows][vocab]

  /// Prepared activations, by ActivationFormat: tiles of all rows.
  std::array<std::byte*, 3> tiles = {};
  /// Scratch of one worker, for the one operation it is at: attention, or a matmul.
  float* attention_scratch(int worker) const {
    return reinterpret_cast<float*>(matmul_scratch(worker));
  }
  std::byte* matmul_scratch(int worker) const { return scratch_ + worker * scratch_bytes_; }

  const StepLimits& limits() const { return limits_; }
  int64_t bytes() const { return static_cast<int64_t>(buffer_.size()); }

 private:
  Workspace() = default;

  StepLimits limits_;
  std::byte* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0;
  AlignedBuffer buffer_;
};

}  // namespace skald::model
