#include "support/random_model.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/pack/dequantize.h"
#include "kernels/test_data.h"
#include "model/families/families.h"

namespace skald::support {
namespace {

using kernels::PackedMatrix;

// What the file of such a network would say.
class SpecKeys final : public model::Keys {
 public:
  explicit SpecKeys(const RandomModelSpec& spec)
      : vocab_(spec.vocab),
        sizes_{{"block_count", 2},
               {"embedding_length", spec.embedding},
               {"attention.head_count", spec.heads},
               {"attention.head_count_kv", spec.kv_heads},
               {"attention.key_length", spec.head_dim},
               {"attention.sliding_window", spec.window},
               {"feed_forward_length", spec.feed_forward},
               {"context_length", 1024}} {
    if (spec.latent_rank > 0) AddLatents(spec);
    if (spec.experts == 0) return;
    sizes_["expert_count"] = spec.experts;
    sizes_["expert_used_count"] = spec.used_experts;
    sizes_["expert_feed_forward_length"] = spec.feed_forward;
  }

  void AddLatents(const RandomModelSpec& spec) {
    sizes_["attention.kv_lora_rank"] = spec.latent_rank;
    sizes_["attention.q_lora_rank"] = 2 * spec.latent_rank;
    sizes_["attention.key_length_mla"] = spec.head_dim;
    sizes_["attention.value_length_mla"] = spec.head_dim;
    sizes_["rope.dimension_count"] = spec.head_dim / 2;
    // As many as there are: which of them an indexer would pick is no question then.
    sizes_["attention.indexer.top_k"] = sizes_["context_length"];
  }

  std::string Spelled(std::string_view name) const override { return std::string(name); }
  bool Contains(std::string_view name) const override {
    return sizes_.contains(name) || numbers_.contains(name);
  }
  Result<int64_t> Size(std::string_view name) const override { return sizes_.find(name)->second; }
  Result<double> Number(std::string_view name) const override {
    CHECK(numbers_.contains(name));
    return numbers_.find(name)->second;
  }
  Result<bool> Flag(std::string_view) const override { UNREACHABLE(); }
  Result<std::string_view> Text(std::string_view) const override { UNREACHABLE(); }
  Result<std::vector<std::string_view>> Texts(std::string_view) const override { UNREACHABLE(); }
  Result<std::vector<int64_t>> LayerSizes(std::string_view name, int64_t layers) const override {
    return std::vector<int64_t>(static_cast<size_t>(layers), *Size(name));
  }
  Result<std::vector<double>> LayerNumbers(std::string_view, int64_t) const override {
    UNREACHABLE();
  }
  Result<int64_t> VocabularySize() const override { return vocab_; }
  Result<int64_t> TokenTypeCount() const override { return 2; }
  Conventions conventions() const override { return Conventions::kPublisher; }
  bool ContainsTensor(std::string_view name) const override {
    return sizes_.contains("expert_count") && name.ends_with("ffn_gate_inp.weight");
  }

 private:
  int64_t vocab_;
  std::map<std::string, int64_t, std::less<>> sizes_;
  // Those of a family that reads none of them are of no effect.
  std::map<std::string, double, std::less<>> numbers_ = {{"attention.layer_norm_rms_epsilon", 1e-5},
                                                         {"attention.layer_norm_epsilon", 1e-5},
                                                         {"embedding_scale", 1.5},
                                                         {"residual_scale", 0.6},
                                                         {"attention.scale", 0.2},
                                                         {"logit_scale", 3},
                                                         {"attn_logit_softcapping", 3},
                                                         {"final_logit_softcapping", 2}};
};

model::Network NetworkOf(const RandomModelSpec& spec) {
  Result<model::Network> network = model::ReadNetwork(spec.family, SpecKeys(spec));
  CHECK(network.ok());
  return *std::move(network);
}

float Uniform(std::mt19937& random) { return static_cast<float>(random() % 20001) * 1e-4f - 1.0f; }

// One stored row whose dequantized elements have the size of scale_of_row / sqrt(cols): random
// integers with matching scales.
std::vector<std::byte> RandomRow(tensor::DType dtype, int64_t cols, float scale_of_row,
                                 std::mt19937& random) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(cols / info.block_elements * info.block_bytes));
  const float size = scale_of_row / std::sqrt(static_cast<float>(cols));
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
  const auto set_scales = [&](float scale) {
    for (int64_t block = 0; block < cols / info.block_elements; ++block) {
      kernels::StoreScales(dtype, scale, bytes.data() + block * info.block_bytes);
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

void FillMatrix(const RandomModelSpec& spec, const model::TensorSlot& slot, std::byte* panels,
                std::mt19937& random) {
  const tensor::DType dtype = spec.dtype;
  for (int64_t first = 0; first < slot.rows; first += kernels::kPanelRows) {
    const int64_t count = std::min<int64_t>(kernels::kPanelRows, slot.rows - first);
    std::vector<std::byte> rows;
    for (int64_t row = 0; row < count; ++row) {
      const auto bytes = RandomRow(dtype, slot.cols, 1 / spec.factor, random);
      rows.insert(rows.end(), bytes.begin(), bytes.end());
    }
    kernels::PackPanel(dtype, rows, static_cast<int>(count), slot.cols, panels);
    panels += kernels::PanelBytes(kernels::PanelTypeFor(dtype), slot.cols);
  }
}

void FillVector(const model::TensorSlot& slot, std::mt19937& random) {
  const bool bias = slot.name.ends_with(".bias");
  // What a state keeps is a share of it.
  const float sign = slot.name.ends_with("ssm_a") ? -1.0f : 1.0f;
  for (int64_t i = 0; i < slot.rows * slot.cols; ++i) {
    slot.vector().push_back(sign * ((bias ? 0.0f : 1.0f) + 0.2f * Uniform(random)));
  }
}

}  // namespace

model::Transformer MakeRandomModel(const RandomModelSpec& spec) {
  model::Network network = NetworkOf(spec);
  spec.change(network);
  CHECK(model::Validate(network).ok());
  std::mt19937 random(spec.seed);
  const kernels::PanelType type = kernels::PanelTypeFor(spec.dtype);
  int64_t bytes = 0;
  const auto matrix_bytes = [&](const model::TensorSlot& slot) {
    const int64_t panels = DivCeil<int64_t>(slot.rows, kernels::kPanelRows);
    return RoundUp<int64_t>(panels * kernels::PanelBytes(type, slot.cols), 64);
  };
  const std::vector<model::TensorSlot> slots = model::TensorsOf(network);
  for (const model::TensorSlot& slot : slots) {
    if (!slot.is_vector()) bytes += slot.slices * matrix_bytes(slot);
  }
  AlignedBuffer storage = *AlignedBuffer::Create(static_cast<uint64_t>(bytes));
  std::byte* next = storage.data();
  for (const model::TensorSlot& slot : slots) {
    if (slot.is_vector()) {
      const bool bias = slot.name.ends_with(".bias");
      if (!slot.is_optional() || (bias && spec.optional_biases)) FillVector(slot, random);
      continue;
    }
    for (PackedMatrix& matrix : slot.matrices()) {
      FillMatrix(spec, slot, next, random);
      matrix = PackedMatrix{type, slot.rows, slot.cols, next, spec.factor};
      next += matrix_bytes(slot);
    }
  }
  return model::Transformer(std::move(network), std::move(storage));
}

}  // namespace skald::support
