#include "model/workspace.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "kernels/matmul/matmul.h"
#include "model/network.h"

namespace skald::model {
namespace {

Needs NeedsOf(const Network& network, const StepLimits& limits) {
  Needs needs;
  needs.AddInput(limits.rows, network.width);  // of the head
  needs.Include(Size(network.layer_inputs, limits));
  needs.Include(Size(network.streams, limits));
  needs.Include(Size(network.hidden_projection, limits));
  for (const Layer& layer : network.layers) {
    for (const Mixer* place : {&layer.mixer, &layer.beside}) {
      std::visit([&](const auto& mixer) { needs.Include(Size(mixer, limits)); }, *place);
    }
    std::visit([&](const auto& block) { needs.Include(Size(block, limits)); }, layer.feed_forward);
    if (layer.laurel) needs.Include(Size(*layer.laurel, limits));
    if (layer.alt_up) needs.Include(Size(*layer.alt_up, limits));
    if (layer.input) needs.Include(Size(*layer.input, limits));
  }
  return needs;
}

}  // namespace

void Needs::AddInput(int64_t rows, int64_t cols) {
  // A format is only used with inputs that are whole units of it, but rounding up costs nothing.
  const int64_t padded = RoundUp<int64_t>(cols, 256);
  for (size_t format = 0; format < tile_bytes.size(); ++format) {
    const auto kind = static_cast<kernels::ActivationFormat>(format);
    tile_bytes[format] = std::max(tile_bytes[format], rows * ActivationBytes(kind, padded));
  }
}

void Needs::Include(const Needs& other) {
  buffer_bytes = std::max(buffer_bytes, other.buffer_bytes);
  scratch_bytes = std::max(scratch_bytes, other.scratch_bytes);
  for (size_t format = 0; format < tile_bytes.size(); ++format) {
    tile_bytes[format] = std::max(tile_bytes[format], other.tile_bytes[format]);
  }
}

Result<Workspace> Workspace::Create(const Network& network, const StepLimits& limits) {
  Workspace space;
  space.limits_ = limits;
  const Needs needs = NeedsOf(network, limits);
  space.scratch_bytes_ =
      std::max(RoundUp<int64_t>(needs.scratch_bytes, 64), kernels::kMatmulScratchBytes);
  const auto carve = [&](std::byte* start) {
    Carver carver(start);
    space.residual = carver.Matrix(limits.rows, network.width);
    space.normed = carver.Matrix(limits.rows, std::max(network.width, HiddenWidth(network)));
    space.block = carver.Bytes(needs.buffer_bytes);
    space.projected = carver.Matrix(limits.rows, network.width);
    space.logits = carver.Matrix(limits.logit_rows, network.vocab);
    if (network.layer_inputs.exist()) {
      space.layer_inputs = carver.Matrix(limits.rows, network.layer_inputs.row_width());
    }
    if (network.streams.exist()) {
      space.streams = carver.Matrix(limits.rows, network.streams.count * network.streams.stride());
    }
    for (size_t format = 0; format < space.tiles.size(); ++format) {
      space.tiles[format] = carver.Bytes(needs.tile_bytes[format]);
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
