/// TokenizerSpec: what a model file says about its tokenizer, before anything of it is believed.
///
/// The load room fills this plain struct from GGUF keys; Tokenizer::Create checks every field and
/// builds the immutable structures from it. Nothing here is validated, and nothing here needs to
/// outlive the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/pre_tokenizer_rules.h"

namespace skald::text {

/// Ids the file gives tokens with a fixed meaning. Absent: the file has no such key. 64-bit so that
/// a 32-bit number from a file can be compared before it is narrowed.
struct SpecialIds {
  std::optional<int64_t> bos = std::nullopt;
  std::optional<int64_t> eos = std::nullopt;
  std::optional<int64_t> eot = std::nullopt;
  std::optional<int64_t> eom = std::nullopt;  // "end of message", e.g. before a tool call
  std::optional<int64_t> unk = std::nullopt;
  std::optional<int64_t> pad = std::nullopt;
  std::optional<int64_t> cls = std::nullopt;             // begins a text where there is no bos
  std::optional<int64_t> sep = std::nullopt;             // ends it, and stands between two
  std::optional<int64_t> fim_prefix = std::nullopt;      // before what stands before a gap
  std::optional<int64_t> fim_suffix = std::nullopt;      // before what stands behind it
  std::optional<int64_t> fim_middle = std::nullopt;      // before what fills it
  std::optional<int64_t> fim_repository = std::nullopt;  // before the name of a repository
  std::optional<int64_t> fim_file = std::nullopt;        // before the name of a file
};

/// The content of the tokenizer.ggml.* keys. Each field names its key.
struct TokenizerSpec {
  std::string model = {};  ///< .model: a name of tokenizer_kind.cc
  std::string pre = {};    ///< .pre: name of the pre-tokenizer, only for "gpt2"; empty if absent

  std::vector<std::string_view> tokens = {};  ///< .tokens: index is the id; text as in the file
  std::vector<float> scores = {};             ///< .scores: one per token ("llama", "t5"), or empty
  std::vector<int64_t> types = {};            ///< .token_type: one per token, or empty (all normal)
  std::vector<std::string_view> merges =
      {};  ///< .merges: "left right", most important first ("gpt2")

  SpecialIds ids = {};  ///< .bos_token_id and so on

  /// No key: what the name in .pre asks for, unless this says otherwise.
  std::optional<Normalization> normalization = std::nullopt;

  std::optional<bool> add_bos = std::nullopt;           ///< .add_bos_token
  std::optional<bool> add_eos = std::nullopt;           ///< .add_eos_token
  std::optional<bool> add_sep = std::nullopt;           ///< .add_sep_token
  std::optional<bool> add_space_prefix = std::nullopt;  ///< .add_space_prefix ("llama", "t5")

  /// .remove_extra_whitespaces and .precompiled_charsmap ("t5")
  std::optional<bool> remove_extra_whitespaces = std::nullopt;
  std::string precompiled_charsmap = {};

  std::optional<bool> lower_case = std::nullopt;     ///< .normalizer.lowercase ("bert")
  std::optional<bool> strip_accents = std::nullopt;  ///< .normalizer.strip_accents ("bert")
};

}  // namespace skald::text
