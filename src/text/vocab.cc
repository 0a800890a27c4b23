#include "text/vocab.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "text/byte_level.h"
#include "text/bytes_hash.h"
#include "text/space_mark.h"

namespace skald::text {

namespace {

Status BadToken(size_t id, const std::string& what) {
  return Status(ErrorCode::kBadModel, "token " + std::to_string(id) + ": " + what);
}

uint64_t KeyOf(const TokenizerSpec& spec) {
  uint64_t key = kMixB;
  for (const std::string_view token : spec.tokens) key = HashBytes(token, key);
  return key;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Status CheckCounts(const TokenizerSpec& spec) {
  const size_t count = spec.tokens.size();
  const auto bad = [](const std::string& message) { return Status(ErrorCode::kBadModel, message); };
  if (count == 0) return bad("the vocabulary has no tokens");
  if (count > kMaxTokens) {
    return bad("the vocabulary has too many tokens: at most " + std::to_string(kMaxTokens) +
               ", found " + std::to_string(count));
  }
  if (!spec.types.empty() && spec.types.size() != count) {
    return bad("token types: expected one for each of " + std::to_string(count) +
               " tokens, found " + std::to_string(spec.types.size()));
  }
  if (!spec.scores.empty() && spec.scores.size() != count) {
    return bad("token scores: expected one for each of " + std::to_string(count) +
               " tokens, found " + std::to_string(spec.scores.size()));
  }
  return Ok();
}

}  // namespace

int ParseByteToken(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  const int high = HexDigit(text[3]);
  const int low = HexDigit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

Result<Vocab> Vocab::Create(const TokenizerSpec& spec, TokenSpelling spelling) {
  RETURN_IF_ERROR(CheckCounts(spec));
  Vocab vocab(KeyOf(spec));
  vocab.tokens_.reserve(spec.tokens.size());
  bool any_text = false;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    RETURN_IF_ERROR(vocab.AddToken(spec, i, spelling));
    any_text = any_text || !spec.tokens[i].empty();
  }
  if (!any_text) return Status(ErrorCode::kBadModel, "all tokens of the vocabulary are empty");
  RETURN_IF_ERROR(vocab.CheckUnique(spec));
  vocab.BuildIndex();
  return vocab;
}

Status Vocab::AddToken(const TokenizerSpec& spec, size_t i, TokenSpelling spelling) {
  const std::string_view text = spec.tokens[i];
  Token token;
  token.offset = static_cast<uint32_t>(arena_.size());  // exact: checked after each token below
  if (!spec.types.empty()) {
    const int64_t type = spec.types[i];
    if (type < 1 || type > 6) {
      return BadToken(i, "type: expected 1 to 6, found " + std::to_string(type));
    }
    token.type = static_cast<TokenType>(type);
  }
  if (!spec.scores.empty()) {
    token.score = spec.scores[i];
    if (std::isnan(token.score)) return BadToken(i, "score is not a number");
  }
  const bool plain = token.type == TokenType::kNormal || token.type == TokenType::kUnused;
  const bool special = !plain && token.type != TokenType::kByte;
  const size_t max_plain =
      spelling == TokenSpelling::kSentencePiece ? kMaxMergedTokenBytes : kMaxTokenBytes;
  const size_t max_bytes = special ? kMaxSpecialTokenBytes : max_plain;
  if (text.size() > max_bytes) {
    return BadToken(i, "too long: at most " + std::to_string(max_bytes) + " bytes, found " +
                           std::to_string(text.size()));
  }
  if (special) special_bytes_ += text.size();
  if (special_bytes_ > kMaxSpecialBytes) {
    return BadToken(i, "the control and user-defined tokens are too long together: at most " +
                           std::to_string(kMaxSpecialBytes) + " bytes, found " +
                           std::to_string(special_bytes_) + " up to here");
  }
  if (token.type == TokenType::kByte) {
    const int byte = ParseByteToken(text);
    if (byte < 0) {
      return BadToken(i, "a byte token must be spelled like <0x0A>, found '" +
                             std::string(text.substr(0, 32)) + "'");
    }
    arena_.push_back(static_cast<char>(byte));
  } else if (special) {
    arena_.append(text);
  } else if (spelling == TokenSpelling::kSentencePiece) {
    AppendWithSpaces(text, &arena_);
  } else if (!AppendByteLevelDecoded(text, &arena_)) {
    arena_.append(text);  // a marker that the file should have called control or user-defined
  }
  if (arena_.size() > UINT32_MAX) {
    return BadToken(i, "the vocabulary is larger than 4 GiB");
  }
  token.length = static_cast<uint32_t>(arena_.size() - token.offset);
  const bool text_space = spelling == TokenSpelling::kSentencePiece &&
                          text.find(' ') != std::string_view::npos;  // text is spelled with U+2581
  token.matchable =
      (plain || token.type == TokenType::kUserDefined) && token.length > 0 && !text_space;
  tokens_.push_back(token);
  return Ok();
}

Status Vocab::CheckUnique(const TokenizerSpec& spec) const {
  TokenIndex seen(spec.tokens.size(), hash_key_);
  const auto text_of = [&spec](TokenId id) { return spec.tokens[static_cast<size_t>(id)]; };
  for (TokenId id = 0; id < size(); ++id) {
    if (text_of(id).empty()) continue;
    const TokenId first = seen.InsertOrFind(id, text_of);
    if (first != id) {
      return BadToken(static_cast<size_t>(id), "has the same text as token " +
                                                   std::to_string(first) + ", '" +
                                                   std::string(text_of(id).substr(0, 32)) + "'");
    }
  }
  return Ok();
}

void Vocab::BuildIndex() {
  index_ = TokenIndex(tokens_.size(), hash_key_);
  byte_tokens_.assign(256, kNoToken);
  const auto bytes_of = [this](TokenId id) { return Bytes(id); };
  for (TokenId id = 0; id < size(); ++id) {
    if (!Matchable(id)) continue;
    index_.InsertOrFind(id, bytes_of);
    max_matchable_bytes_ = std::max(max_matchable_bytes_, Bytes(id).size());
  }
  for (TokenId id = 0; id < size(); ++id) {
    if (!Matchable(id) && !Bytes(id).empty()) index_.InsertOrFind(id, bytes_of);
  }
  for (TokenId id = 0; id < size(); ++id) {
    if (Type(id) != TokenType::kByte) continue;
    byte_tokens_[static_cast<uint8_t>(Bytes(id)[0])] = id;
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (byte_tokens_[byte] == kNoToken) byte_tokens_[byte] = FindMatchable(std::string_view(&c, 1));
  }
}

TokenId Vocab::Find(std::string_view bytes) const {
  return index_.Find(index_.Hash(bytes), bytes, [this](TokenId id) { return Bytes(id); });
}

TokenId Vocab::FindMatchable(std::string_view bytes) const {
  if (bytes.size() > max_matchable_bytes_) return kNoToken;
  const TokenId id = Find(bytes);
  return id != kNoToken && Matchable(id) ? id : kNoToken;
}

void Vocab::MarkControl(TokenId id) {
  Token& token = tokens_[static_cast<size_t>(id)];
  token.type = TokenType::kControl;
  token.matchable = false;
}

}  // namespace skald::text
