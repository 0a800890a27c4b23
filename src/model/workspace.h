/// Workspace: every buffer a forward pass writes, taken once from the limits of the engine. A step
/// allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/checked_math.h"
#include "kernels/quantize/quantize.h"
#include "skald/status.h"

namespace skald::model {

struct Network;

/// The largest step a workspace has room for.
struct StepLimits {
  int64_t rows = 1;        ///< rows (tokens) of a step
  int64_t logit_rows = 1;  ///< rows of a step whose logits are wanted
  int threads = 1;         ///< workers of the pool
};

/// A matrix of floats in the workspace, one row per row of the step. Widths are padded to whole
/// panels (16), and so that rows do not begin a multiple of 1 KiB apart: what is written down a
/// column, as the sums of a panel are, would meet in a few sets of the caches.
struct Rows {
  float* data = nullptr;
  int64_t stride = 0;  ///< floats from one row to the next
  float* row(int64_t index) const { return data + index * stride; }
};

/// Hands out consecutive 64-byte aligned parts of a buffer. Without a buffer it only counts: what
/// lays a buffer out also says how large it is.
class Carver {
 public:
  explicit Carver(std::byte* start) : start_(start) {}

  std::byte* Bytes(int64_t bytes) {
    std::byte* part = start_ == nullptr ? nullptr : start_ + used_;
    used_ += RoundUp<int64_t>(bytes, 64);
    return part;
  }
  Rows Matrix(int64_t rows, int64_t width) {
    int64_t stride = RoundUp<int64_t>(width, kernels::kPanelRows);
    if (stride % 256 == 0) stride += kernels::kPanelRows;
    return {reinterpret_cast<float*>(Bytes(rows * stride * int64_t{sizeof(float)})), stride};
  }
  int64_t used() const { return used_; }

 private:
  std::byte* start_;
  int64_t used_ = 0;
};

/// What a block needs of the workspace for the largest step.
struct Needs {
  int64_t buffer_bytes = 0;  ///< its own buffers (Workspace::block)
  /// Prepared activations, by ActivationFormat.
  std::array<int64_t, kernels::kActivationFormatCount> tile_bytes = {};
  int64_t scratch_bytes = 0;  ///< of each worker, beside what a matmul needs

  /// Grows to hold `rows` rows of `cols` elements, prepared in any format.
  void AddInput(int64_t rows, int64_t cols);
  /// Grows to what either needs: blocks run one after another.
  void Include(const Needs& other);
};

/// Names say what a buffer holds between the blocks; see transformer.cc for the flow.
class Workspace {
 public:
  /// Errors: kResourceExhausted with the number of bytes.
  static Result<Workspace> Create(const Network& network, const StepLimits& limits);
  /// The bytes that Create takes. Asks for the numbers of the network only, not for its weights.
  static int64_t BytesFor(const Network& network, const StepLimits& limits);

  Rows residual;      ///< [rows][width]: the residual stream
  Rows normed;        ///< [rows][width]: input of a block after its norm; at the end hidden rows,
                      ///< [rows][HiddenWidth]
  Rows projected;     ///< [rows][width]: output of a block before it is added to the residual
  Rows logits;        ///< [logit_rows][vocab]
  Rows layer_inputs;  ///< [rows][row_width]: of the tokens, where the network has them
  Rows streams;       ///< [rows][count * stride]: where the network has several (Streams)

  /// Prepared activations, by ActivationFormat: tiles of all rows.
  std::array<std::byte*, kernels::kActivationFormatCount> tiles = {};
  /// The buffers of the block that runs, laid out by itself. Nothing stays there for the next.
  std::byte* block = nullptr;
  /// Scratch of one worker, for the one operation it is at: attention, or a matmul.
  float* attention_scratch(int worker) const {
    return reinterpret_cast<float*>(matmul_scratch(worker));
  }
  std::byte* matmul_scratch(int worker) const { return scratch_ + worker * scratch_bytes_; }

  const StepLimits& limits() const { return limits_; }
  int64_t bytes() const { return static_cast<int64_t>(buffer_.size()); }

 private:
  Workspace() = default;

  // Lays everything out behind `start` for these limits, and returns the bytes; from nullptr it
  // only counts.
  int64_t LayOut(const Network& network, const StepLimits& limits, std::byte* start);

  StepLimits limits_;
  std::byte* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0;
  AlignedBuffer buffer_;
};

}  // namespace skald::model
