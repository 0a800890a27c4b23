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
  needs.Include(Size(network.rank_head, limits));
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

int64_t Workspace::LayOut(const Network& network, const StepLimits& limits, std::byte* start) {
  limits_ = limits;
  const Needs needs = NeedsOf(network, limits);
  scratch_bytes_ =
      std::max(RoundUp<int64_t>(needs.scratch_bytes, 64), kernels::kMatmulScratchBytes);
  Carver carver(start);
  residual = carver.Matrix(limits.rows, network.width);
  normed = carver.Matrix(limits.rows, std::max(network.width, HiddenWidth(network)));
  block = carver.Bytes(needs.buffer_bytes);
  projected = carver.Matrix(limits.rows, network.width);
  logits = carver.Matrix(limits.logit_rows, network.vocab);
  if (network.layer_inputs.exist()) {
    layer_inputs = carver.Matrix(limits.rows, network.layer_inputs.row_width());
  }
  if (network.streams.exist()) {
    streams = carver.Matrix(limits.rows, network.streams.count * network.streams.stride());
  }
  for (size_t format = 0; format < tiles.size(); ++format) {
    tiles[format] = carver.Bytes(needs.tile_bytes[format]);
  }
  scratch_ = carver.Bytes(limits.threads * scratch_bytes_);
  return carver.used();
}

int64_t Workspace::BytesFor(const Network& network, const StepLimits& limits) {
  return Workspace().LayOut(network, limits, nullptr);
}

Result<Workspace> Workspace::Create(const Network& network, const StepLimits& limits) {
  Workspace space;
  const int64_t bytes = BytesFor(network, limits);
  auto buffer = AlignedBuffer::Create(static_cast<uint64_t>(bytes));
  if (!buffer.ok()) return std::move(buffer).status().WithContext("activations");
  space.buffer_ = *std::move(buffer);
  space.LayOut(network, limits, space.buffer_.data());
  return space;
}

}  // namespace skald::model
