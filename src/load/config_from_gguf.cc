#include "load/config_from_gguf.h"

#include <limits>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "model/arch/arch_list.h"

namespace skald::load {
namespace {

using formats::Metadata;

// The keys of one architecture: "llama.block_count" and so on.
class ArchKeys {
 public:
  ArchKeys(const Metadata& metadata, std::string_view arch)
      : metadata_(metadata), prefix_(std::string(arch) + ".") {}

  std::string Key(std::string_view name) const { return prefix_ + std::string(name); }
  bool Contains(std::string_view name) const { return metadata_.Contains(Key(name)); }

  // Sizes are far below 2^40 in any model; the bound keeps later products inside 63 bits.
  Result<int64_t> Size(std::string_view name) const {
    return Bounded(name, metadata_.GetU64(Key(name)));
  }
  Result<int64_t> SizeOr(std::string_view name, int64_t fallback) const {
    if (!Contains(name)) return fallback;
    return Size(name);
  }
  Result<double> NumberOr(std::string_view name, double fallback) const {
    return metadata_.GetF64Or(Key(name), fallback);
  }
  Result<std::string_view> StringOr(std::string_view name, std::string_view fallback) const {
    return metadata_.GetStringOr(Key(name), fallback);
  }

  // A number for all layers, or an array with the same number for each layer.
  Result<int64_t> UniformSize(std::string_view name, int64_t layers) const {
    ASSIGN_OR_RETURN(const formats::IntArray values, metadata_.GetIntOrInts(Key(name)));
    const auto count = static_cast<int64_t>(values.size());
    if (count != 1 && count != layers) {
      return Status(ErrorCode::kBadModel, "key '" + Key(name) + "' has " + std::to_string(count) +
                                              " numbers, expected one per layer (" +
                                              std::to_string(layers) + ")");
    }
    for (size_t i = 1; i < values.size(); ++i) {
      if (values[i] == values[0]) continue;
      return Status(ErrorCode::kUnsupported, "key '" + Key(name) +
                                                 "' differs between layers, which this version "
                                                 "does not run");
    }
    if (values[0] < 0) {
      return Status(ErrorCode::kBadModel, "key '" + Key(name) + "' is " +
                                              std::to_string(values[0]) +
                                              ", expected a positive number");
    }
    return values[0];
  }

 private:
  Result<int64_t> Bounded(std::string_view name, Result<uint64_t> value) const {
    if (!value.ok()) return std::move(value).status();
    if (*value > uint64_t{1} << 40) {
      return Status(ErrorCode::kBadModel, "key '" + Key(name) + "' is " + std::to_string(*value) +
                                              ", larger than any model");
    }
    return static_cast<int64_t>(*value);
  }

  const Metadata& metadata_;
  std::string prefix_;
};

Result<int64_t> DefaultHeadDim(const model::ModelConfig& config) {
  if (config.heads < 1 || config.embedding % config.heads != 0) {
    return Status(ErrorCode::kBadModel, "embedding length " + std::to_string(config.embedding) +
                                            " is not a multiple of head count " +
                                            std::to_string(config.heads) +
                                            " and the file gives no key length");
  }
  return config.embedding / config.heads;
}

Status ReadAttention(const ArchKeys& keys, model::ModelConfig* config) {
  ASSIGN_OR_RETURN(config->heads, keys.UniformSize("attention.head_count", config->layers));
  config->kv_heads = config->heads;
  if (keys.Contains("attention.head_count_kv")) {
    ASSIGN_OR_RETURN(config->kv_heads, keys.UniformSize("attention.head_count_kv", config->layers));
  }
  if (keys.Contains("attention.key_length")) {
    ASSIGN_OR_RETURN(config->key_dim, keys.Size("attention.key_length"));
  } else {
    ASSIGN_OR_RETURN(config->key_dim, DefaultHeadDim(*config));
  }
  ASSIGN_OR_RETURN(config->value_dim, keys.SizeOr("attention.value_length", config->key_dim));
  ASSIGN_OR_RETURN(config->window, keys.SizeOr("attention.sliding_window", 0));
  ASSIGN_OR_RETURN(const double epsilon, keys.NumberOr("attention.layer_norm_rms_epsilon",
                                                       std::numeric_limits<double>::quiet_NaN()));
  if (epsilon != epsilon && !keys.Contains("attention.layer_norm_rms_epsilon")) {
    return Status(ErrorCode::kBadModel,
                  "key '" + keys.Key("attention.layer_norm_rms_epsilon") + "' is missing");
  }
  config->norm_epsilon = static_cast<float>(epsilon);
  return Ok();
}

Status ReadYarn(const ArchKeys& keys, const model::ModelConfig& config, model::RopeConfig* rope) {
  ASSIGN_OR_RETURN(rope->original_context,
                   keys.SizeOr("rope.scaling.original_context_length", config.context));
  ASSIGN_OR_RETURN(rope->extrapolation, keys.NumberOr("rope.scaling.yarn_ext_factor", 1));
  ASSIGN_OR_RETURN(const double attention_factor, keys.NumberOr("rope.scaling.attn_factor", 1));
  ASSIGN_OR_RETURN(rope->attention_factor,
                   keys.NumberOr("rope.scaling.yarn_attn_factor", attention_factor));
  ASSIGN_OR_RETURN(rope->beta_fast, keys.NumberOr("rope.scaling.yarn_beta_fast", 32));
  ASSIGN_OR_RETURN(rope->beta_slow, keys.NumberOr("rope.scaling.yarn_beta_slow", 1));
  return Ok();
}

Status ReadRope(const ArchKeys& keys, model::ModelConfig* config) {
  model::RopeConfig& rope = config->rope;
  ASSIGN_OR_RETURN(rope.rotated, keys.SizeOr("rope.dimension_count", config->key_dim));
  ASSIGN_OR_RETURN(rope.base, keys.NumberOr("rope.freq_base", 10000));
  // Files before 2023-10 spell linear scaling as one number.
  ASSIGN_OR_RETURN(const double old_factor, keys.NumberOr("rope.scale_linear", 1));
  ASSIGN_OR_RETURN(rope.factor, keys.NumberOr("rope.scaling.factor", old_factor));
  const std::string_view fallback = keys.Contains("rope.scale_linear") ? "linear" : "none";
  ASSIGN_OR_RETURN(const std::string_view type, keys.StringOr("rope.scaling.type", fallback));
  if (type == "linear") {
    rope.scaling = model::RopeScaling::kLinear;
  } else if (type == "yarn") {
    rope.scaling = model::RopeScaling::kYarn;
    RETURN_IF_ERROR(ReadYarn(keys, *config, &rope));
  } else if (type != "none") {
    return Status(ErrorCode::kUnsupported, "rope scaling '" + std::string(type) +
                                               "' is not supported (supported: none, linear, yarn, "
                                               "and factors in rope_freqs.weight)");
  }
  return Ok();
}

Status RefuseExperts(const ArchKeys& keys) {
  ASSIGN_OR_RETURN(const int64_t experts, keys.SizeOr("expert_count", 0));
  ASSIGN_OR_RETURN(const int64_t used, keys.SizeOr("expert_used_count", 0));
  if (experts == 0 && used == 0) return Ok();
  return Status(ErrorCode::kUnsupported, "this model is a mixture of " + std::to_string(experts) +
                                             " experts, which this version does not run");
}

}  // namespace

Result<model::ModelConfig> ConfigFromMetadata(const Metadata& metadata) {
  ASSIGN_OR_RETURN(const std::string_view arch, metadata.GetString("general.architecture"));
  model::ModelConfig config;
  config.family = model::FindFamily(arch);
  if (config.family == nullptr) {
    return Status(ErrorCode::kUnsupported,
                  "architecture '" + std::string(arch) +
                      "' is not supported (supported: " + model::FamilyNames() + ")");
  }
  const ArchKeys keys(metadata, arch);
  RETURN_IF_ERROR(RefuseExperts(keys));
  ASSIGN_OR_RETURN(config.layers, keys.Size("block_count"));
  ASSIGN_OR_RETURN(config.embedding, keys.Size("embedding_length"));
  ASSIGN_OR_RETURN(config.feed_forward, keys.UniformSize("feed_forward_length", config.layers));
  ASSIGN_OR_RETURN(config.context, keys.Size("context_length"));
  ASSIGN_OR_RETURN(const formats::StringArray tokens, metadata.GetStrings("tokenizer.ggml.tokens"));
  config.vocab = static_cast<int64_t>(tokens.size());
  RETURN_IF_ERROR(ReadAttention(keys, &config));
  RETURN_IF_ERROR(ReadRope(keys, &config));
  RETURN_IF_ERROR(model::Validate(config));
  return config;
}

Result<std::optional<Pooling>> PoolingFromMetadata(const Metadata& metadata) {
  ASSIGN_OR_RETURN(const std::string_view arch, metadata.GetString("general.architecture"));
  ASSIGN_OR_RETURN(const int64_t type, ArchKeys(metadata, arch).SizeOr("pooling_type", 0));
  switch (type) {
    case 0: return std::optional<Pooling>();
    case 1: return std::optional(Pooling::kMean);
    case 3: return std::optional(Pooling::kLast);
    default: return std::optional(Pooling::kNone);
  }
}

}  // namespace skald::load
