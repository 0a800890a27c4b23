/// TokenizerKind: what the keys .model and .pre of a file decide about its tokenizer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "skald/status.h"
#include "text/pre_tokenizer_rules.h"
#include "text/text_encoder.h"
#include "text/tokenizer_spec.h"
#include "text/vocab.h"

namespace skald::text {

struct TokenizerKind;

/// What an encoder is made of. `vocab` is the vocabulary made from `spec` and outlives the encoder.
struct EncoderSource {
  const TokenizerSpec& spec;
  const TokenizerKind& kind;
  const Vocab& vocab;
  TokenId unk = kNoToken;
};

/// One kind of tokenizer. What begins with `default` holds where the file does not say.
struct TokenizerKind {
  std::string_view model = {};  ///< the key .model
  std::string_view what = {};   ///< the kind by its name
  Result<std::unique_ptr<const TextEncoder>> (*make_encoder)(const EncoderSource&) = nullptr;
  TokenSpelling spelling = TokenSpelling::kByteLevel;
  SpecialIds default_ids = {};  ///< only those that the vocabulary has
  bool default_add_bos = false;
  bool default_add_eos = false;
  bool default_add_sep = false;
  bool default_space_prefix = false;
  std::string_view pre = {};               ///< whatever the key .pre says; empty: that decides
  const PreTokenizerRule* rule = nullptr;  ///< of a kind with a pre-tokenizer
};

/// The kind of `spec`. Errors: kUnsupported for a model or a pre-tokenizer that is not known, with
/// those that are.
Result<TokenizerKind> KindOf(const TokenizerSpec& spec);

}  // namespace skald::text
