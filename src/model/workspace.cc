#include "model/workspace.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "kernels/attention/attention.h"
#include "kernels/matmul/matmul.h"

namespace skald::model {
namespace {

// Hands out consecutive 64-byte aligned parts of a buffer; first only counted, then placed.
class Carver {
 public:
  explicit Carver(std::byte* start) : start_(start) {}

  std::byte* Bytes(int64_t bytes) {
    std::byte* part = start_ == nullptr ? nullptr : start_ + used_;
    used_ += RoundUp<int64_t>(bytes, 64);
    return part;
  }
  Workspace::Rows Rows(int64_t rows, int64_t width) {
    const int64_t stride = RoundUp<int64_t>(width, kernels::kPanelRows);
    return {reinterpret_cast<float*>(Bytes(rows * stride * int64_t{sizeof(float)})), stride};
  }
  int64_t used() const { return used_; }

 private:
  std::byte* start_;
  int64_t used_ = 0;
};

// The widest input any matmul of the network has.
int64_t WidestInput(const ModelConfig& config) {
  return std::max({config.embedding, config.attention_width(), config.feed_forward});
}

}  // namespace

Result<Workspace> Workspace::Create(const ModelConfig& config, const StepLimits& limits) {
  Workspace space;
  space.limits_ = limits;
  const int64_t attention_floats = kernels::AttentionScratchFloats(
      static_cast<int>(config.key_dim), static_cast<int>(config.value_dim),
      static_cast<int>(config.group()));
  space.scratch_bytes_ = std::max(RoundUp<int64_t>(attention_floats * int64_t{sizeof(float)}, 64),
                                  kernels::kMatmulScratchBytes);
  const auto carve = [&](std::byte* start) {
    Carver carver(start);
    space.residual = carver.Rows(limits.rows, config.embedding);
    space.normed = carver.Rows(limits.rows, config.embedding);
    space.query = carver.Rows(limits.rows, config.query_width());
    space.key = carver.Rows(limits.rows, config.key_width());
    space.value = carver.Rows(limits.rows, config.value_width());
    space.attention = carver.Rows(limits.rows, config.attention_width());
    space.gate = carver.Rows(limits.rows, config.feed_forward);
    space.up = carver.Rows(limits.rows, config.feed_forward);
    space.projected = carver.Rows(limits.rows, config.embedding);
    space.logits = carver.Rows(limits.logit_rows, config.vocab);
    for (size_t format = 0; format < space.tiles.size(); ++format) {
      // A format is only used with inputs that are whole units of it, but rounding up costs
      // nothing.
      const int64_t cols = RoundUp<int64_t>(WidestInput(config), 256);
      const auto kind = static_cast<kernels::ActivationFormat>(format);
      space.tiles[format] = carver.Bytes(limits.rows * kernels::ActivationBytes(kind, cols));
    }
    space.scratch_ = carver.Bytes(limits.threads * space.scratch_bytes_);
    return carver.used();
  };
  const int64_t bytes = carve(nullptr);
  auto buffer = AlignedBuffer::Create(static_cast<uint64_t>(bytes));
  if (!buffer.ok()) return std::move(buffer).status().WithContext("activations");
  space.buffer_ = *std::move(buffer);
  carve(space.buffer_.data());
  return space;
}

}  // namespace skald::model
