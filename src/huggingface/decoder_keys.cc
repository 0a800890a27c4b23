#include "huggingface/decoder_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "formats/quote.h"

namespace skald::huggingface {
namespace {

constexpr int64_t kMostLayers = 4096;  // as many as the model room takes, and more
constexpr int64_t kMostHeadDim = 65536;

struct Heads {
  int64_t count;
  int64_t dim;
};

Result<Heads> WriteSizes(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t layers, config.Int("num_hidden_layers"));
  ASSIGN_OR_RETURN(const int64_t width, config.Int("hidden_size"));
  ASSIGN_OR_RETURN(const int64_t context, config.Int("max_position_embeddings"));
  ASSIGN_OR_RETURN(const int64_t hidden, config.IntOr("intermediate_size", 0));
  if (layers < 1 || layers > kMostLayers)
    return ConfigError("num_hidden_layers",
                       fmt::format("is {}, expected 1 to {}", layers, kMostLayers));
  keys->Int("block_count", layers);
  keys->Int("embedding_length", width);
  keys->Int("context_length", context);
  if (hidden > 0) keys->Int("feed_forward_length", hidden);
  ASSIGN_OR_RETURN(const int64_t heads, config.Int("num_attention_heads"));
  ASSIGN_OR_RETURN(const int64_t kv_heads, config.IntOr("num_key_value_heads", heads));
  if (heads < 1 || width < 1)
    return ConfigError("num_attention_heads", "and 'hidden_size' must be at least 1");
  ASSIGN_OR_RETURN(const int64_t head_dim, config.IntOr("head_dim", width / heads));
  if (head_dim < 1 || head_dim > kMostHeadDim)
    return ConfigError("head_dim", fmt::format("is {}, expected 1 to {}", head_dim, kMostHeadDim));
  keys->Int("attention.head_count", heads);
  keys->Int("attention.head_count_kv", kv_heads);
  keys->Int("attention.key_length", head_dim);
  keys->Int("attention.value_length", head_dim);
  return Heads{heads, head_dim};
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

// ---- RoPE ----

// The object that says how positions are stretched. Newer files also keep the base in it, and one
// such object for each kind of layer where they differ.
std::optional<JsonValue> ScalingOf(const Config& config) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const std::optional<JsonValue> value = config.Find(name);
    if (!value || !value->IsObject()) continue;
    const std::optional<JsonValue> full = value->Find("full_attention");
    return full && full->IsObject() ? full : value;
  }
  return std::nullopt;
}

Result<double> BaseOf(const Config& config) {
  if (config.Contains("rope_theta")) return config.Number("rope_theta");
  const std::optional<JsonValue> scaling = ScalingOf(config);
  const std::optional<JsonValue> base = scaling ? scaling->Find("rope_theta") : std::nullopt;
  if (!base) return 10000.0;  // where every architecture began
  const std::optional<double> number = base->AsNumber();
  if (!number) return ConfigError("rope_theta", "is no number");
  return *number;
}

// The members of the scaling object. Whoever is done asks whether a member was left over, because
// one that is not understood may change every answer.
class Scaling {
 public:
  explicit Scaling(JsonValue object) : object_(object) {}

  Result<double> Number(std::string_view name) {
    ASSIGN_OR_RETURN(const std::optional<double> number, NumberIfThere(name));
    if (!number) return ConfigError(name, "is missing in 'rope_scaling'");
    return *number;
  }
  Result<std::optional<double>> NumberIfThere(std::string_view name) {
    known_.push_back(name);
    const std::optional<JsonValue> value = object_.Find(name);
    if (!value || value->kind() == JsonKind::kNull) return std::optional<double>();
    const std::optional<double> number = value->AsNumber();
    if (!number) return ConfigError(name, "is no number");
    return number;
  }
  std::string Type() {
    for (const char* name : {"rope_type", "type"}) {
      known_.push_back(name);
      const std::optional<JsonValue> value = object_.Find(name);
      if (value && value->AsString()) return std::string(*value->AsString());
    }
    return "default";
  }
  void Ignore(std::string_view name) { known_.push_back(name); }
  const JsonValue& object() const { return object_; }

  Status CheckAllKnown() const {
    for (const JsonValue member : object_) {
      const bool known = std::find(known_.begin(), known_.end(), member.name()) != known_.end();
      if (known || member.kind() == JsonKind::kNull) continue;
      return ConfigError(member.name(), "of 'rope_scaling' is not known to this version",
                         ErrorCode::kUnsupported);
    }
    return Ok();
  }

 private:
  JsonValue object_;
  std::vector<std::string_view> known_;
};

struct Rope {
  double base;
  int64_t rotated;
  int64_t context;  // max_position_embeddings
};

// Llama 3.1's: low frequencies turn slower, high ones as before, those between by a mixture.
Result<ComputedTensor> Llama3Factors(Scaling& scaling, const Rope& rope) {
  ASSIGN_OR_RETURN(const double factor, scaling.Number("factor"));
  ASSIGN_OR_RETURN(const double low, scaling.Number("low_freq_factor"));
  ASSIGN_OR_RETURN(const double high, scaling.Number("high_freq_factor"));
  ASSIGN_OR_RETURN(const double original, scaling.Number("original_max_position_embeddings"));
  if (!(factor > 0 && low > 0 && high > low && original > 0))
    return ConfigError("rope_scaling",
                       "expected 0 < low_freq_factor < high_freq_factor, factor > 0");
  ComputedTensor tensor{.name = "rope_freqs.weight", .values = {}};
  for (int64_t i = 0; i < rope.rotated; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(rope.rotated);
    const double wavelength = 2 * std::numbers::pi * std::pow(rope.base, exponent);
    const double share = (original / wavelength - low) / (high - low);
    const double mixed = 1 / ((1 - share) / factor + share);
    const double value = share <= 0 ? factor : share >= 1 ? 1 : mixed;
    tensor.values.push_back(static_cast<float>(value));
  }
  return tensor;
}

Result<ComputedTensor> FactorList(const Scaling& scaling, std::string_view member,
                                  std::string_view name, const Rope& rope) {
  ComputedTensor tensor{.name = name, .values = {}};
  const std::optional<JsonValue> list = scaling.object().Find(member);
  if (!list || !list->IsArray()) return ConfigError(member, "is missing in 'rope_scaling'");
  for (const JsonValue element : *list) {
    const std::optional<double> number = element.AsNumber();
    if (!number) return ConfigError(member, "holds something that is no number");
    tensor.values.push_back(static_cast<float>(*number));
  }
  if (static_cast<int64_t>(tensor.values.size()) != rope.rotated / 2) {
    return ConfigError(
        member, fmt::format("has {} numbers, expected {}", tensor.values.size(), rope.rotated / 2));
  }
  return tensor;
}

// LongRoPE (Phi-3): a list of factors for short and one for long contexts, and one for the scores.
Result<std::vector<ComputedTensor>> LongRope(const Config& config, Scaling& scaling,
                                             const Rope& rope, KeyWriter* keys) {
  std::vector<ComputedTensor> tensors;
  for (const auto& [member, name] :
       {std::pair<const char*, const char*>{"long_factor", "rope_factors_long.weight"},
        std::pair<const char*, const char*>{"short_factor", "rope_factors_short.weight"}}) {
    scaling.Ignore(member);
    ASSIGN_OR_RETURN(ComputedTensor tensor, FactorList(scaling, member, name, rope));
    tensors.push_back(std::move(tensor));
  }
  ASSIGN_OR_RETURN(const int64_t original,
                   config.IntOr("original_max_position_embeddings", rope.context));
  if (original < 2) return ConfigError("original_max_position_embeddings", "is less than 2");
  scaling.Ignore("original_max_position_embeddings");
  keys->Int("rope.scaling.original_context_length", original);
  const double stretch = static_cast<double>(rope.context) / static_cast<double>(original);
  const double usual =
      stretch <= 1 ? 1 : std::sqrt(1 + std::log(stretch) / std::log(static_cast<double>(original)));
  ASSIGN_OR_RETURN(const std::optional<double> given, scaling.NumberIfThere("attention_factor"));
  keys->Number("rope.scaling.attn_factor", given.value_or(usual));
  return tensors;
}

Status Yarn(Scaling& scaling, const Rope& rope, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const double factor, scaling.Number("factor"));
  ASSIGN_OR_RETURN(const std::optional<double> original,
                   scaling.NumberIfThere("original_max_position_embeddings"));
  ASSIGN_OR_RETURN(const std::optional<double> magnitude,
                   scaling.NumberIfThere("attention_factor"));
  ASSIGN_OR_RETURN(const std::optional<double> fast, scaling.NumberIfThere("beta_fast"));
  ASSIGN_OR_RETURN(const std::optional<double> slow, scaling.NumberIfThere("beta_slow"));
  scaling.Ignore("truncate");  // gpt-oss alone says it, and its family knows
  keys->Text("rope.scaling.type", "yarn");
  keys->Number("rope.scaling.factor", factor);
  keys->Int("rope.scaling.original_context_length",
            original ? static_cast<int64_t>(*original) : rope.context);
  if (magnitude) keys->Number("rope.scaling.yarn_attn_factor", *magnitude);
  if (fast) keys->Number("rope.scaling.yarn_beta_fast", *fast);
  if (slow) keys->Number("rope.scaling.yarn_beta_slow", *slow);
  return Ok();
}

Result<std::vector<ComputedTensor>> WriteScaling(const Config& config, const Rope& rope,
                                                 KeyWriter* keys) {
  std::vector<ComputedTensor> tensors;
  const std::optional<JsonValue> object = ScalingOf(config);
  if (!object) return tensors;
  Scaling scaling(*object);
  scaling.Ignore("rope_theta");
  scaling.Ignore("partial_rotary_factor");
  const std::string type = scaling.Type();
  if (type == "linear") {
    ASSIGN_OR_RETURN(const double factor, scaling.Number("factor"));
    keys->Text("rope.scaling.type", "linear");
    keys->Number("rope.scaling.factor", factor);
  } else if (type == "yarn") {
    RETURN_IF_ERROR(Yarn(scaling, rope, keys));
  } else if (type == "llama3") {
    ASSIGN_OR_RETURN(ComputedTensor factors, Llama3Factors(scaling, rope));
    tensors.push_back(std::move(factors));
  } else if (type == "longrope" || type == "su") {
    ASSIGN_OR_RETURN(tensors, LongRope(config, scaling, rope, keys));
  } else if (type != "default") {
    return ConfigError(
        "rope_scaling",
        fmt::format("has type {}, expected linear, yarn, llama3 or longrope", formats::Quote(type)),
        ErrorCode::kUnsupported);
  }
  RETURN_IF_ERROR(scaling.CheckAllKnown());
  return tensors;
}

Result<double> RotatedShare(const Config& config) {
  if (config.Contains("partial_rotary_factor")) return config.Number("partial_rotary_factor");
  const std::optional<JsonValue> scaling = ScalingOf(config);
  const auto share = scaling ? scaling->Find("partial_rotary_factor") : std::nullopt;
  return share ? share->AsNumber().value_or(1) : 1.0;
}

}  // namespace

Result<std::vector<ComputedTensor>> WriteDecoderKeys(const Config& config,
                                                     const Architecture& architecture,
                                                     KeyWriter* keys) {
  RETURN_IF_ERROR(CheckActivation(config, architecture.activation));
  ASSIGN_OR_RETURN(const Heads heads, WriteSizes(config, keys));
  RETURN_IF_ERROR(WriteEpsilon(config, keys));
  Rope rope = {};
  ASSIGN_OR_RETURN(rope.base, BaseOf(config));
  ASSIGN_OR_RETURN(rope.context, config.Int("max_position_embeddings"));
  ASSIGN_OR_RETURN(const double share, RotatedShare(config));
  if (!(share > 0 && share <= 1)) return ConfigError("partial_rotary_factor", "is not in (0, 1]");
  rope.rotated = static_cast<int64_t>(static_cast<double>(heads.dim) * share);
  keys->Int("rope.dimension_count", rope.rotated);
  keys->Number("rope.freq_base", rope.base);
  ASSIGN_OR_RETURN(std::vector<ComputedTensor> tensors, WriteScaling(config, rope, keys));
  if (architecture.write_keys != nullptr) RETURN_IF_ERROR(architecture.write_keys(config, keys));
  return tensors;
}

Status WindowPattern(const Config& config, std::string_view period, KeyWriter* keys) {
  std::vector<int64_t> windows;
  if (const std::optional<JsonValue> types = config.Find("layer_types");
      types && types->IsArray()) {
    for (const JsonValue type : *types) {
      const std::optional<std::string_view> name = type.AsString();
      const bool is_near = name == "sliding_attention";
      if (!is_near && name != "full_attention")
        return ConfigError("layer_types", "holds neither full_attention nor sliding_attention",
                           ErrorCode::kUnsupported);
      windows.push_back(is_near ? 1 : 0);
    }
    keys->Ints("attention.sliding_window_pattern", windows);
    return Ok();
  }
  if (period.empty() || !config.Contains(period)) return Ok();
  ASSIGN_OR_RETURN(const int64_t layers, config.Int(period));
  keys->Int("attention.sliding_window_pattern", layers);
  return Ok();
}

Result<double> NearRopeBase(const Config& config, double fallback) {
  if (config.Contains("rope_local_base_freq")) return config.Number("rope_local_base_freq");
  const std::optional<JsonValue> parameters = config.Find("rope_parameters");
  const auto near = parameters ? parameters->Find("sliding_attention") : std::nullopt;
  const auto base = near ? near->Find("rope_theta") : std::nullopt;
  return base ? base->AsNumber().value_or(fallback) : fallback;
}

}  // namespace skald::huggingface
