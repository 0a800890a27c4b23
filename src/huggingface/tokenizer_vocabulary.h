/// TokenizerVocabulary: the tokens of a tokenizer.json by their ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.h"
#include "formats/metadata_writer.h"
#include "skald/status.h"

namespace skald::huggingface {

/// Kinds of tokens, by the numbers of tokenizer.ggml.token_type.
enum TokenType : int64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

/// "tokenizer.json: PROBLEM".
Status TokenizerError(std::string problem, ErrorCode code = ErrorCode::kBadModel);

/// A view of the document, which must outlive it, but for tokens that were respelled.
class TokenizerVocabulary {
 public:
  /// `size` unused tokens.
  explicit TokenizerVocabulary(int64_t size);
  TokenizerVocabulary(const TokenizerVocabulary&) = delete;
  TokenizerVocabulary& operator=(const TokenizerVocabulary&) = delete;

  /// Errors: kBadModel for an id that is not below the size, and for one that two tokens have.
  Status Put(std::string_view token, std::optional<int64_t> id, int64_t type);

  /// Those of "added_tokens": special ones are control tokens, others user-defined. Errors: of Put,
  /// and kBadModel for one without a content or an id.
  Status PutAdded(JsonValue root);

  /// Spells a token anew.
  void Respell(size_t id, std::string text);

  const std::vector<std::string_view>& tokens() const { return tokens_; }
  const std::vector<int64_t>& types() const { return types_; }
  size_t size() const { return tokens_.size(); }
  std::optional<int64_t> IdOf(std::string_view text) const;
  std::optional<int64_t> FirstOf(TokenType type) const;

  /// Writes tokens and types.
  void Write(formats::MetadataWriter* metadata) const;

 private:
  std::vector<std::string> own_;  // by id: texts that no document holds
  std::vector<std::string_view> tokens_;
  std::vector<int64_t> types_;
};

/// Whether `token` spells a byte, as in "<0x0A>".
bool IsByteToken(std::string_view token);

}  // namespace skald::huggingface
