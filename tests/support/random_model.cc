#include "support/random_model.h"

#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/pack/dequantize.h"
#include "kernels/test_data.h"
#include "model/arch/arch_list.h"

namespace skald::support {
namespace {

using kernels::PackedMatrix;

model::ModelConfig ConfigOf(const RandomModelSpec& spec) {
  model::ModelConfig config;
  config.family = spec.family == nullptr ? &model::kLlama : spec.family;
  config.vocab = spec.vocab;
  config.embedding = spec.embedding;
  config.layers = 2;
  config.heads = spec.heads;
  config.kv_heads = spec.kv_heads;
  config.key_dim = spec.head_dim;
  config.value_dim = spec.head_dim;
  config.feed_forward = spec.feed_forward;
  config.context = 1024;
  config.norm_epsilon = 1e-5f;
  config.window = spec.window;
  config.rope.rotated = spec.head_dim;
  const Status status = model::Validate(config);
  CHECK(status.ok());
  return config;
}

float Uniform(std::mt19937& random) { return static_cast<float>(random() % 20001) * 1e-4f - 1.0f; }

// One stored row whose dequantized elements have the size of 1 / sqrt(cols): random integers with
// matching scales.
std::vector<std::byte> RandomRow(tensor::DType dtype, int64_t cols, std::mt19937& random) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(cols / info.block_elements * info.block_bytes));
  const float size = 1.0f / std::sqrt(static_cast<float>(cols));
  if (info.block_elements == 1) {
    for (int64_t i = 0; i < cols; ++i) {
      const float value = Uniform(random) * size;
      const uint32_t bits = std::bit_cast<uint32_t>(value);
      const uint16_t half = dtype == tensor::DType::kF16 ? tensor::HalfFromFloat(value)
                                                         : static_cast<uint16_t>(bits >> 16);
      std::byte* element = bytes.data() + i * info.block_bytes;
      std::memcpy(element, dtype == tensor::DType::kF32 ? static_cast<const void*>(&value) : &half,
                  info.block_bytes);
    }
    return bytes;
  }
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 256);
  const kernels::HalfFields halves = kernels::HalfFieldsOf(dtype);
  const auto set_scales = [&](float scale) {
    for (int64_t block = 0; block < cols / info.block_elements; ++block) {
      for (int field = 0; field < halves.count; ++field) {
        const uint16_t half = tensor::HalfFromFloat(scale);
        std::memcpy(bytes.data() + block * info.block_bytes + halves.offsets[field], &half, 2);
      }
    }
  };
  // Measure the row with scale 1, then set the scale that gives the wanted size.
  set_scales(1.0f);
  std::vector<float> row(static_cast<size_t>(cols));
  kernels::DequantizeRow(dtype, bytes, cols, row.data());
  double squares = 0;
  for (const float value : row) squares += static_cast<double>(value) * value;
  const double rms = std::sqrt(squares / static_cast<double>(cols)) + 1e-9;
  set_scales(static_cast<float>(0.6 * size / rms));
  return bytes;
}

void FillMatrix(tensor::DType dtype, const model::WeightSlot& slot, std::byte* panels,
                std::mt19937& random) {
  for (int64_t first = 0; first < slot.rows; first += kernels::kPanelRows) {
    const int64_t count = std::min<int64_t>(kernels::kPanelRows, slot.rows - first);
    std::vector<std::byte> rows;
    for (int64_t row = 0; row < count; ++row) {
      const auto bytes = RandomRow(dtype, slot.cols, random);
      rows.insert(rows.end(), bytes.begin(), bytes.end());
    }
    kernels::PackPanel(dtype, rows, static_cast<int>(count), slot.cols, panels);
    panels += kernels::PanelBytes(kernels::PanelTypeFor(dtype), slot.cols);
  }
}

void FillVector(const model::WeightSlot& slot, std::vector<float>* values, std::mt19937& random) {
  const bool bias = slot.role == model::WeightRole::kQueryBias ||
                    slot.role == model::WeightRole::kKeyBias ||
                    slot.role == model::WeightRole::kValueBias;
  for (int64_t i = 0; i < slot.cols; ++i) {
    values->push_back((bias ? 0.0f : 1.0f) + 0.2f * Uniform(random));
  }
}

}  // namespace

model::Transformer MakeRandomModel(const RandomModelSpec& spec) {
  const model::ModelConfig config = ConfigOf(spec);
  std::mt19937 random(spec.seed);
  model::Weights weights;
  weights.layers.resize(static_cast<size_t>(config.layers));
  const kernels::PanelType type = kernels::PanelTypeFor(spec.dtype);
  int64_t bytes = 0;
  const auto matrix_bytes = [&](const model::WeightSlot& slot) {
    const int64_t panels = DivCeil<int64_t>(slot.rows, kernels::kPanelRows);
    return RoundUp<int64_t>(panels * kernels::PanelBytes(type, slot.cols), 64);
  };
  for (const model::WeightSlot& slot : model::SlotsOf(config)) {
    if (!slot.vector) bytes += matrix_bytes(slot);
  }
  weights.storage = *AlignedBuffer::Create(static_cast<uint64_t>(bytes));
  std::byte* next = weights.storage.data();
  for (const model::WeightSlot& slot : model::SlotsOf(config)) {
    if (slot.role == model::WeightRole::kRopeFactors) continue;
    if (slot.vector) {
      if (!slot.optional) FillVector(slot, &weights.Vector(slot), random);
      continue;
    }
    FillMatrix(spec.dtype, slot, next, random);
    weights.Matrix(slot) = PackedMatrix{type, slot.rows, slot.cols, next};
    next += matrix_bytes(slot);
  }
  return model::Transformer(config, std::move(weights));
}

}  // namespace skald::support
