#include "load/tokenizer_from_gguf.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/status_macros.h"

namespace skald::load {

namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string Key(std::string_view name) { return std::string(kPrefix) + std::string(name); }

Status ReadOptionalBool(const formats::Metadata& metadata, std::string_view name,
                        std::optional<bool>* out) {
  const std::string key = Key(name);
  if (!metadata.Contains(key)) return Ok();
  ASSIGN_OR_RETURN(*out, metadata.GetBool(key));
  return Ok();
}

Status ReadOptionalId(const formats::Metadata& metadata, std::string_view name,
                      std::optional<int64_t>* out) {
  const std::string key = Key(name);
  if (!metadata.Contains(key)) return Ok();
  ASSIGN_OR_RETURN(*out, metadata.GetI64(key));
  return Ok();
}

Status ReadStrings(const formats::Metadata& metadata, std::string_view name,
                   std::vector<std::string_view>* out) {
  ASSIGN_OR_RETURN(const formats::StringArray strings, metadata.GetStrings(Key(name)));
  out->assign(strings.begin(), strings.end());
  return Ok();
}

Status ReadIds(const formats::Metadata& metadata, text::SpecialIds* ids) {
  RETURN_IF_ERROR(ReadOptionalId(metadata, "bos_token_id", &ids->bos));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "eos_token_id", &ids->eos));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "eot_token_id", &ids->eot));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "eom_token_id", &ids->eom));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "unknown_token_id", &ids->unk));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "cls_token_id", &ids->cls));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "seperator_token_id", &ids->sep));  // so spelled
  RETURN_IF_ERROR(ReadOptionalId(metadata, "padding_token_id", &ids->pad));
  // The older names first: a file with both means the newer.
  RETURN_IF_ERROR(ReadOptionalId(metadata, "prefix_token_id", &ids->fim_prefix));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "suffix_token_id", &ids->fim_suffix));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "middle_token_id", &ids->fim_middle));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "fim_pre_token_id", &ids->fim_prefix));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "fim_suf_token_id", &ids->fim_suffix));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "fim_mid_token_id", &ids->fim_middle));
  RETURN_IF_ERROR(ReadOptionalId(metadata, "fim_rep_token_id", &ids->fim_repository));
  return ReadOptionalId(metadata, "fim_sep_token_id", &ids->fim_file);
}

Status ReadCharsmap(const formats::Metadata& metadata, std::string* out) {
  const std::string key = Key("precompiled_charsmap");
  if (!metadata.Contains(key)) return Ok();
  ASSIGN_OR_RETURN(const formats::IntArray bytes, metadata.GetInts(key));
  out->reserve(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] < -128 || bytes[i] > 255) {
      return Status(
          ErrorCode::kBadModel,
          key + ": expected bytes, found " + std::to_string(bytes[i]) + " at " + std::to_string(i));
    }
    out->push_back(static_cast<char>(bytes[i]));
  }
  return Ok();
}

Status ReadFlags(const formats::Metadata& metadata, text::TokenizerSpec* spec) {
  RETURN_IF_ERROR(ReadOptionalBool(metadata, "add_bos_token", &spec->add_bos));
  RETURN_IF_ERROR(ReadOptionalBool(metadata, "add_eos_token", &spec->add_eos));
  RETURN_IF_ERROR(ReadOptionalBool(metadata, "add_sep_token", &spec->add_sep));
  RETURN_IF_ERROR(ReadOptionalBool(metadata, "add_space_prefix", &spec->add_space_prefix));
  RETURN_IF_ERROR(ReadOptionalBool(metadata, "normalizer.lowercase", &spec->lower_case));
  RETURN_IF_ERROR(ReadOptionalBool(metadata, "normalizer.strip_accents", &spec->strip_accents));
  return ReadOptionalBool(metadata, "remove_extra_whitespaces", &spec->remove_extra_whitespaces);
}

}  // namespace

Result<text::TokenizerSpec> TokenizerSpecFromMetadata(const formats::Metadata& metadata) {
  text::TokenizerSpec spec;
  ASSIGN_OR_RETURN(spec.model, metadata.GetString(Key("model")));
  ASSIGN_OR_RETURN(spec.pre, metadata.GetStringOr(Key("pre"), ""));
  RETURN_IF_ERROR(ReadStrings(metadata, "tokens", &spec.tokens));
  if (metadata.Contains(Key("scores"))) {
    ASSIGN_OR_RETURN(const formats::FloatArray scores, metadata.GetFloats(Key("scores")));
    spec.scores.reserve(scores.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      spec.scores.push_back(static_cast<float>(scores[i]));
    }
  }
  if (metadata.Contains(Key("token_type"))) {
    ASSIGN_OR_RETURN(const formats::IntArray types, metadata.GetInts(Key("token_type")));
    spec.types.reserve(types.size());
    for (size_t i = 0; i < types.size(); ++i) spec.types.push_back(types[i]);
  }
  // BPE by merges cannot do without them; other vocabularies have none, or ignore them.
  if (spec.model == "gpt2" || spec.model == "gemma4")
    RETURN_IF_ERROR(ReadStrings(metadata, "merges", &spec.merges));
  RETURN_IF_ERROR(ReadIds(metadata, &spec.ids));
  RETURN_IF_ERROR(ReadCharsmap(metadata, &spec.precompiled_charsmap));
  RETURN_IF_ERROR(ReadFlags(metadata, &spec));
  return spec;
}

Result<Tokenizer> TokenizerFromMetadata(const formats::Metadata& metadata) {
  ASSIGN_OR_RETURN(const text::TokenizerSpec spec, TokenizerSpecFromMetadata(metadata));
  Result<Tokenizer> tokenizer = Tokenizer::Create(spec);
  if (!tokenizer.ok()) return std::move(tokenizer).status().WithContext("tokenizer");
  return tokenizer;
}

}  // namespace skald::load
