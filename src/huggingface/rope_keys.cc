#include "huggingface/rope_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "formats/quote.h"

namespace skald::huggingface {
namespace {

constexpr std::string_view kProportional = "proportional";

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

// Llama 3.1's: low frequencies turn slower, high ones as before, those between by a mixture.
Result<ComputedTensor> Llama3Factors(Scaling& scaling, const RopeShape& rope) {
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
                                  std::string_view name, const RopeShape& rope) {
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
                                             const RopeShape& rope, KeyWriter* keys) {
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

// Gemma 4's: as if all of a head turned, but the frequencies behind the first share are 0.
Result<ComputedTensor> ProportionalFactors(Scaling& scaling, const RopeShape& rope) {
  ASSIGN_OR_RETURN(const double share, scaling.Number("partial_rotary_factor"));
  if (!(share > 0 && share <= 1)) return ConfigError("partial_rotary_factor", "is not in (0, 1]");
  constexpr float kStands = 1e30F;  // what the angle is divided by
  const auto turning = static_cast<size_t>(share * static_cast<double>(rope.rotated)) / 2;
  ComputedTensor tensor{.name = "rope_freqs.weight", .values = {}};
  tensor.values.assign(static_cast<size_t>(rope.rotated / 2), kStands);
  std::fill_n(tensor.values.begin(), turning, 1.0F);
  return tensor;
}

// DeepSeek's two magnitudes, of cosine and sine and of the scores. They are the same number in all
// that is published, so that the first cancels, and the family computes no other case.
Status LatentMagnitudes(Scaling& scaling, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const double turned, scaling.Number("mscale"));
  ASSIGN_OR_RETURN(const double scores, scaling.Number("mscale_all_dim"));
  if (!(scores > 0) || turned != scores) {
    return ConfigError(
        "mscale_all_dim",
        fmt::format("is {} and 'mscale' {}, expected the same above 0", scores, turned),
        ErrorCode::kUnsupported);
  }
  keys->Number("rope.scaling.yarn_log_multiplier", 0.1 * scores);
  return Ok();
}

// The trained context of a stretched one.
Result<int64_t> OriginalContext(Scaling& scaling, const RopeShape& rope) {
  constexpr double kMost = 1e12;
  constexpr std::string_view kName = "original_max_position_embeddings";
  ASSIGN_OR_RETURN(const std::optional<double> original, scaling.NumberIfThere(kName));
  if (!original) return rope.context;
  if (*original >= 1 && *original <= kMost) return static_cast<int64_t>(*original);
  return ConfigError(kName, fmt::format("is {}, expected 1 to {}", *original, kMost));
}

Status Yarn(Scaling& scaling, const RopeShape& rope, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const double factor, scaling.Number("factor"));
  ASSIGN_OR_RETURN(const int64_t original, OriginalContext(scaling, rope));
  ASSIGN_OR_RETURN(const std::optional<double> fast, scaling.NumberIfThere("beta_fast"));
  ASSIGN_OR_RETURN(const std::optional<double> slow, scaling.NumberIfThere("beta_slow"));
  scaling.Ignore("truncate");  // gpt-oss alone says it, and its family knows
  keys->Text("rope.scaling.type", "yarn");
  keys->Number("rope.scaling.factor", factor);
  keys->Int("rope.scaling.original_context_length", original);
  if (fast) keys->Number("rope.scaling.yarn_beta_fast", *fast);
  if (slow) keys->Number("rope.scaling.yarn_beta_slow", *slow);
  if (rope.latent) return LatentMagnitudes(scaling, keys);
  ASSIGN_OR_RETURN(const std::optional<double> magnitude,
                   scaling.NumberIfThere("attention_factor"));
  if (magnitude) keys->Number("rope.scaling.yarn_attn_factor", *magnitude);
  return Ok();
}

}  // namespace

Result<double> RopeBase(const Config& config) {
  if (config.Contains("rope_theta")) return config.Number("rope_theta");
  const std::optional<JsonValue> scaling = ScalingOf(config);
  const std::optional<JsonValue> base = scaling ? scaling->Find("rope_theta") : std::nullopt;
  if (!base) return 10000.0;  // where every architecture began
  const std::optional<double> number = base->AsNumber();
  if (!number) return ConfigError("rope_theta", "is no number");
  return *number;
}

Result<double> RotatedShare(const Config& config, double fallback) {
  // There all elements turn, most of them so slowly that they stand.
  const std::optional<JsonValue> object = ScalingOf(config);
  if (object && Scaling(*object).Type() == kProportional) return 1;
  if (config.Contains("partial_rotary_factor")) return config.Number("partial_rotary_factor");
  const std::optional<JsonValue> scaling = ScalingOf(config);
  const auto share = scaling ? scaling->Find("partial_rotary_factor") : std::nullopt;
  return share ? share->AsNumber().value_or(fallback) : fallback;
}

Result<double> NearRopeBase(const Config& config, double fallback) {
  if (config.Contains("rope_local_base_freq")) return config.Number("rope_local_base_freq");
  const std::optional<JsonValue> parameters = config.Find("rope_parameters");
  const auto near = parameters ? parameters->Find("sliding_attention") : std::nullopt;
  const auto base = near ? near->Find("rope_theta") : std::nullopt;
  return base ? base->AsNumber().value_or(fallback) : fallback;
}

Result<std::vector<ComputedTensor>> WriteRopeScaling(const Config& config, const RopeShape& rope,
                                                     KeyWriter* keys) {
  std::vector<ComputedTensor> tensors;
  const std::optional<JsonValue> object = ScalingOf(config);
  if (!object) return tensors;
  Scaling scaling(*object);
  scaling.Ignore("rope_theta");
  scaling.Ignore("partial_rotary_factor");
  // How the positions of pictures are cut; those of a text are all the same.
  scaling.Ignore("mrope_section");
  scaling.Ignore("mrope_interleaved");
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
  } else if (type == kProportional) {
    ASSIGN_OR_RETURN(ComputedTensor factors, ProportionalFactors(scaling, rope));
    tensors.push_back(std::move(factors));
  } else if (type == "longrope" || type == "su") {
    ASSIGN_OR_RETURN(tensors, LongRope(config, scaling, rope, keys));
  } else if (type != "default") {
    return ConfigError(
        "rope_scaling",
        fmt::format("has type {}, expected linear, yarn, llama3, longrope or proportional",
                    formats::Quote(type)),
        ErrorCode::kUnsupported);
  }
  RETURN_IF_ERROR(scaling.CheckAllKnown());
  return tensors;
}

}  // namespace skald::huggingface
