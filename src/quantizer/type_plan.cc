#include "quantizer/type_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace skald::quantizer {
namespace {

using formats::TensorInfo;
using tensor::DType;

constexpr std::array kMixtures = {
    Mixture{"Q8_0", 7, DType::kQ8_0, DType::kQ8_0, DType::kQ8_0, DType::kQ8_0},
    Mixture{"Q4_0", 2, DType::kQ4_0, DType::kQ4_0, DType::kQ4_0, DType::kQ6_K},
    Mixture{"Q4_K_M", 15, DType::kQ4_K, DType::kQ6_K, DType::kQ5_K, DType::kQ6_K},
    Mixture{"Q5_K_M", 17, DType::kQ5_K, DType::kQ6_K, DType::kQ6_K, DType::kQ6_K},
    Mixture{"Q6_K", 18, DType::kQ6_K, DType::kQ6_K, DType::kQ6_K, DType::kQ6_K},
};

// Parts of names of matrices that stay as they are: they are small, and what they decide lasts. An
// expert is chosen or not; a gate of a recurrent layer says how much of its state all later tokens
// still see. The large matrices of those layers (ssm_in, ssm_out) are as any others.
constexpr std::string_view kCopied[] = {"_norm",         "ffn_gate_inp", "ssm_alpha",
                                        "ssm_beta",      "ssm_ba",       "conv",
                                        "position_embd", "token_types",  "attn_rel_b"};

bool IsCopied(const TensorInfo& tensor) {
  if (tensor.dim_count < 2 || !tensor.name.ends_with(".weight")) return true;
  return std::any_of(std::begin(kCopied), std::end(kCopied), [&](std::string_view part) {
    return tensor.name.find(part) != std::string_view::npos;
  });
}

// N of "blk.N.rest".
std::optional<int64_t> LayerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t layer = 0;
  const auto [end, error] =
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  if (error != std::errc() || layer < 0 || end == name.data() + name.size() || *end != '.') {
    return std::nullopt;
  }
  return layer;
}

int64_t LayersOf(const formats::TensorDirectory& tensors) {
  int64_t layers = 0;
  for (const TensorInfo& tensor : tensors.all()) {
    // No file has as many tensors, so a larger number is none of a layer.
    const int64_t layer = LayerOf(tensor.name).value_or(-1);
    if (layer < static_cast<int64_t>(tensors.all().size())) layers = std::max(layers, layer + 1);
  }
  return layers;
}

DType MeantFor(const TensorInfo& tensor, const Mixture& mixture, std::string_view output,
               int64_t layers) {
  const auto has = [&](std::string_view part) {
    return tensor.name.find(part) != std::string_view::npos;
  };
  if (tensor.name == output) return mixture.output;
  if (has("attn_qkv")) return mixture.fused;
  const std::optional<int64_t> layer = LayerOf(tensor.name);
  if (layer && (has("attn_v.") || has("ffn_down")) && MoreBits(*layer, layers)) {
    return mixture.finer;
  }
  return mixture.bulk;
}

// The type for rows of `columns`: the meant one, else one whose blocks fit.
DType Fitting(DType meant, uint64_t columns) {
  for (const DType dtype : {meant, DType::kQ8_0}) {
    if (columns % tensor::InfoOf(dtype).block_elements == 0) return dtype;
  }
  return DType::kF16;
}

}  // namespace

std::span<const Mixture> Mixtures() { return kMixtures; }

bool MoreBits(int64_t layer, int64_t layers) {
  const int64_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

std::vector<PlannedTensor> PlanTypes(const formats::TensorDirectory& tensors,
                                     const Mixture& mixture) {
  const std::string_view output =
      tensors.Find("output.weight") != nullptr ? "output.weight" : "token_embd.weight";
  const int64_t layers = LayersOf(tensors);
  std::vector<PlannedTensor> plan;
  for (const TensorInfo& tensor : tensors.all()) {
    if (IsCopied(tensor)) {
      plan.push_back({&tensor, tensor.dtype});
      continue;
    }
    const DType meant = MeantFor(tensor, mixture, output, layers);
    const DType dtype = Fitting(meant, tensor.columns());
    plan.push_back({&tensor, dtype, dtype != meant});
  }
  return plan;
}

}  // namespace skald::quantizer
