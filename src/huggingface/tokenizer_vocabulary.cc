#include "huggingface/tokenizer_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "formats/quote.h"

namespace skald::huggingface {

Status TokenizerError(std::string problem, ErrorCode code) {
  return Status(code, "tokenizer.json: " + std::move(problem));
}

TokenizerVocabulary::TokenizerVocabulary(int64_t size)
    : own_(static_cast<size_t>(size)), types_(own_.size(), kUnused) {
  for (size_t id = 0; id < own_.size(); ++id) {
    own_[id] = fmt::format("[PAD{}]", id);
    tokens_.emplace_back(own_[id]);
  }
}

Status TokenizerVocabulary::Put(std::string_view token, std::optional<int64_t> id, int64_t type) {
  const auto size = static_cast<int64_t>(tokens_.size());
  if (!id || *id < 0 || *id >= size) {
    return TokenizerError(fmt::format("token {} has no id from 0 to {}, as the embedding has",
                                      formats::Quote(token), size - 1));
  }
  const auto place = static_cast<size_t>(*id);
  const bool is_taken = types_[place] != kUnused && tokens_[place] != token;
  if (is_taken) {
    return TokenizerError(fmt::format("id {} is {} and {}", *id, formats::Quote(tokens_[place]),
                                      formats::Quote(token)));
  }
  tokens_[place] = token;
  types_[place] = type;
  return Ok();
}

Status TokenizerVocabulary::PutAdded(JsonValue root) {
  const auto added = root.Find("added_tokens");
  if (!added) return Ok();
  for (const JsonValue token : *added) {
    const auto content = token.Find("content");
    const auto text = content ? content->AsString() : std::nullopt;
    const auto id = token.Find("id");
    const auto special = token.Find("special");
    if (!text || !id) return TokenizerError("an added token has no content or no id");
    const bool is_special = special && special->AsBool().value_or(false);
    RETURN_IF_ERROR(Put(*text, id->AsInt(), is_special ? kControl : kUserDefined));
  }
  return Ok();
}

void TokenizerVocabulary::Respell(size_t id, std::string text) {
  own_[id] = std::move(text);
  tokens_[id] = own_[id];
}

std::optional<int64_t> TokenizerVocabulary::IdOf(std::string_view text) const {
  const auto found = std::find(tokens_.begin(), tokens_.end(), text);
  if (found == tokens_.end()) return std::nullopt;
  return found - tokens_.begin();
}

std::optional<int64_t> TokenizerVocabulary::FirstOf(TokenType type) const {
  const auto found = std::find(types_.begin(), types_.end(), type);
  if (found == types_.end()) return std::nullopt;
  return found - types_.begin();
}

void TokenizerVocabulary::Write(formats::MetadataWriter* metadata) const {
  metadata->SetStrings("tokenizer.ggml.tokens", tokens_);
  metadata->SetInts("tokenizer.ggml.token_type", types_);
}

bool IsByteToken(std::string_view token) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return token.size() == 6 && token.starts_with("<0x") && token[5] == '>' && is_digit(token[3]) &&
         is_digit(token[4]);
}

}  // namespace skald::huggingface
