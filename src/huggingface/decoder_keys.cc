#include "huggingface/decoder_keys.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "formats/quote.h"

namespace skald::huggingface {
namespace {

constexpr int64_t kMostLayers = 4096;  // as many as the model room takes, and more
constexpr int64_t kMostHeadSize = 65536;

// What nearly all have: one number for all layers, keys as long as values.
Result<DecoderShape> ReadShape(const Config& config, const Architecture& architecture) {
  DecoderShape shape;
  ASSIGN_OR_RETURN(shape.layers, config.Int("num_hidden_layers"));
  ASSIGN_OR_RETURN(shape.width, config.Int("hidden_size"));
  ASSIGN_OR_RETURN(shape.heads, config.Int("num_attention_heads"));
  ASSIGN_OR_RETURN(const int64_t kv_heads, config.IntOr("num_key_value_heads", shape.heads));
  ASSIGN_OR_RETURN(const int64_t hidden, config.IntOr("intermediate_size", 0));
  // Before anything of that size is taken.
  if (shape.layers < 1 || shape.layers > kMostLayers)
    return ConfigError("num_hidden_layers",
                       fmt::format("is {}, expected 1 to {}", shape.layers, kMostLayers));
  if (shape.heads < 1 || shape.width < 1)
    return ConfigError("num_attention_heads", "and 'hidden_size' must be at least 1");
  ASSIGN_OR_RETURN(shape.key_dim, config.IntOr("head_dim", shape.width / shape.heads));
  if (shape.key_dim < 1 || shape.key_dim > kMostHeadSize)
    return ConfigError("head_dim",
                       fmt::format("is {}, expected 1 to {}", shape.key_dim, kMostHeadSize));
  shape.value_dim = shape.key_dim;
  shape.kv_heads = {kv_heads};
  if (hidden > 0) shape.hidden = {hidden};
  ASSIGN_OR_RETURN(const double share, RotatedShare(config, architecture.rotated_share));
  if (!(share > 0 && share <= 1)) return ConfigError("partial_rotary_factor", "is not in (0, 1]");
  shape.rotated = static_cast<int64_t>(static_cast<double>(shape.key_dim) * share);
  ASSIGN_OR_RETURN(shape.context, config.Int("max_position_embeddings"));
  if (architecture.change_shape != nullptr)
    RETURN_IF_ERROR(architecture.change_shape(config, &shape));
  return shape;
}

void WriteNumbers(std::string_view key, const std::vector<int64_t>& numbers, KeyWriter* keys) {
  if (numbers.size() == 1) {
    keys->Int(key, numbers.front());
  } else if (!numbers.empty()) {
    keys->Ints(key, numbers);
  }
}

void WriteShape(const DecoderShape& shape, KeyWriter* keys) {
  keys->Int("block_count", shape.layers);
  keys->Int("embedding_length", shape.width);
  keys->Int("context_length", shape.context);
  WriteNumbers("feed_forward_length", shape.hidden, keys);
  keys->Int("attention.head_count", shape.heads);
  WriteNumbers("attention.head_count_kv", shape.kv_heads, keys);
  keys->Int("attention.key_length", shape.key_dim);
  keys->Int("attention.value_length", shape.value_dim);
  keys->Int("rope.dimension_count", shape.rotated);
}

Status WriteEpsilon(const Config& config, KeyWriter* keys) {
  if (config.Contains("rms_norm_eps")) {
    ASSIGN_OR_RETURN(const double epsilon, config.Number("rms_norm_eps"));
    keys->Number("attention.layer_norm_rms_epsilon", epsilon);
    return Ok();
  }
  for (const char* name : {"layer_norm_eps", "norm_epsilon"}) {
    if (!config.Contains(name)) continue;
    ASSIGN_OR_RETURN(const double epsilon, config.Number(name));
    keys->Number("attention.layer_norm_epsilon", epsilon);
    return Ok();
  }
  return ConfigError("rms_norm_eps", "is missing");
}

Status CheckActivation(const Config& config, std::string_view expected) {
  for (const char* name : {"hidden_activation", "hidden_act"}) {
    if (!config.Contains(name)) continue;
    ASSIGN_OR_RETURN(const std::string_view found, config.Text(name));
    if (found == expected) return Ok();
    return ConfigError(
        name, fmt::format("is {}, which this version does not run here", formats::Quote(found)),
        ErrorCode::kUnsupported);
  }
  return Ok();
}

}  // namespace

Result<std::vector<ComputedTensor>> WriteDecoderKeys(const Config& config,
                                                     const Architecture& architecture,
                                                     KeyWriter* keys) {
  RETURN_IF_ERROR(CheckActivation(config, architecture.activation));
  ASSIGN_OR_RETURN(const DecoderShape shape, ReadShape(config, architecture));
  WriteShape(shape, keys);
  RETURN_IF_ERROR(WriteEpsilon(config, keys));
  RopeShape rope = {
      .rotated = shape.rotated, .context = shape.context, .latent = architecture.latent};
  ASSIGN_OR_RETURN(rope.base, RopeBase(config));
  keys->Number("rope.freq_base", rope.base);
  ASSIGN_OR_RETURN(std::vector<ComputedTensor> tensors, WriteRopeScaling(config, rope, keys));
  if (architecture.write_keys != nullptr) RETURN_IF_ERROR(architecture.write_keys(config, keys));
  return tensors;
}

Result<int64_t> PaddingRows(const Config& config) {
  constexpr int64_t kMost = int64_t{1} << 31;
  ASSIGN_OR_RETURN(const int64_t padding, config.Int("pad_token_id"));
  if (padding >= 0 && padding < kMost) return padding + 1;
  return ConfigError("pad_token_id", fmt::format("is {}, expected 0 to {}", padding, kMost - 1));
}

Result<int64_t> HeadSize(const Config& config, std::string_view name) {
  ASSIGN_OR_RETURN(const int64_t size, config.Int(name));
  if (size >= 1 && size <= kMostHeadSize) return size;
  return ConfigError(name, fmt::format("is {}, expected 1 to {}", size, kMostHeadSize));
}

Status WindowKey(const Config& config, KeyWriter* keys) {
  if (!config.Contains("sliding_window")) return Ok();
  ASSIGN_OR_RETURN(const int64_t window, config.Int("sliding_window"));
  keys->Int("attention.sliding_window", window);
  return Ok();
}

Status ExpectUnusedWindow(const Config& config) {
  ASSIGN_OR_RETURN(const bool used, config.FlagOr("use_sliding_window", false));
  if (!used) return Ok();
  return ConfigError("use_sliding_window", "is true, which this version does not run",
                     ErrorCode::kUnsupported);
}

Result<std::vector<int64_t>> LayerFlags(const Config& config, std::string_view one,
                                        std::string_view zero) {
  std::vector<int64_t> flags;
  const std::optional<JsonValue> types = config.Find("layer_types");
  if (!types || !types->IsArray()) return flags;
  for (const JsonValue type : *types) {
    const std::optional<std::string_view> name = type.AsString();
    if (name != one && name != zero)
      return ConfigError("layer_types", fmt::format("holds neither {} nor {}", zero, one),
                         ErrorCode::kUnsupported);
    flags.push_back(name == one ? 1 : 0);
  }
  ASSIGN_OR_RETURN(const int64_t layers, config.Int("num_hidden_layers"));
  if (!flags.empty() && static_cast<int64_t>(flags.size()) != layers)
    return ConfigError("layer_types",
                       fmt::format("has {} entries, expected {}", flags.size(), layers));
  return flags;
}

Status WindowPattern(const Config& config, std::string_view period, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> windows,
                   LayerFlags(config, "sliding_attention", "full_attention"));
  if (!windows.empty()) {
    keys->Ints("attention.sliding_window_pattern", windows);
    return Ok();
  }
  if (period.empty() || !config.Contains(period)) return Ok();
  ASSIGN_OR_RETURN(const int64_t layers, config.Int(period));
  keys->Int("attention.sliding_window_pattern", layers);
  return Ok();
}

}  // namespace skald::huggingface
