#include "huggingface/config_keys.h"

#include <string>
#include <utility>

#include "base/json_tree.h"
#include "base/status_macros.h"
#include "formats/metadata_writer.h"
#include "formats/quote.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"

namespace skald::huggingface {
namespace {

using tensor::DType;

Result<DType> MatrixType(const Config& config) {
  // The newer name first.
  for (const char* name : {"dtype", "torch_dtype"}) {
    if (!config.Contains(name)) continue;
    ASSIGN_OR_RETURN(const std::string_view type, config.Text(name));
    if (type == "bfloat16") return DType::kBF16;
    if (type == "float16") return DType::kF16;
    if (type == "float32") return DType::kF32;
    return ConfigError(name,
                       "is " + formats::Quote(type) + ", expected bfloat16, float16 or float32");
  }
  return DType::kBF16;  // what nearly all are published in
}

// FP8 becomes BF16 as it is read (TensorPlan); MXFP4 stays as it is, and only experts have it.
Result<std::optional<DType>> ExpertType(const Config& config) {
  const std::optional<JsonValue> quantization = config.Find("quantization_config");
  if (!quantization) return std::optional<DType>();
  const std::optional<JsonValue> member = quantization->Find("quant_method");
  const std::string_view method = member ? member->AsString().value_or("") : "";
  if (method == "mxfp4") return std::optional(DType::kMXFP4);
  if (method == "fp8") return std::optional<DType>();
  return ConfigError("quantization_config",
                     "has the method " + formats::Quote(method) + ", expected fp8 or mxfp4",
                     ErrorCode::kUnsupported);
}

}  // namespace

Result<ConfigKeys> ReadConfigKeys(std::string_view text) {
  Result<JsonTree> tree = JsonTree::Parse(text);
  if (!tree.ok()) return std::move(tree).status().WithContext("config.json");
  ASSIGN_OR_RETURN(Config config, Config::Of(*tree));
  ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture(config));
  config.Rename(architecture->members);
  formats::MetadataWriter metadata;
  metadata.SetString("general.architecture", architecture->family);
  KeyWriter writer(metadata, architecture->family);
  RETURN_IF_ERROR(WriteDecoderKeys(config, *architecture, &writer).status());
  ASSIGN_OR_RETURN(const int64_t vocab, config.Int("vocab_size"));
  writer.Int("vocab_size", vocab);
  ConfigKeys keys;
  ASSIGN_OR_RETURN(keys.metadata, std::move(metadata).Finish());
  ASSIGN_OR_RETURN(keys.matrices, MatrixType(config));
  ASSIGN_OR_RETURN(keys.experts, ExpertType(config));
  if (config.IsClass(kRankingClass))
    for (const NameRule& rule : architecture->rank_rules) keys.names.emplace_back(rule.name);
  if (architecture->name_tensors != nullptr)
    RETURN_IF_ERROR(architecture->name_tensors(config, &keys.names));
  ASSIGN_OR_RETURN(keys.is_tied, config.FlagOr("tie_word_embeddings", architecture->ties_head));
  return keys;
}

}  // namespace skald::huggingface
