/// Vocab: the tokens of a model, proven and immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "skald/tokenizer.h"
#include "text/token_index.h"
#include "text/tokenizer_spec.h"

namespace skald::text {

/// How the file spells the bytes of normal tokens.
enum class TokenSpelling : uint8_t {
  kSentencePiece,  ///< as they are, a space as U+2581
  kByteLevel,      ///< one character per byte (byte_level.h)
};

// Limits. Far above what published models need, low enough to bound a hostile file.
inline constexpr size_t kMaxTokens = size_t{1} << 21;  ///< largest seen: 262,400
inline constexpr size_t kMaxMerges = size_t{1} << 22;  ///< largest seen: 580,604
inline constexpr size_t kMaxTokenBytes = 16384;        ///< in the file; largest seen: 1,024
/// Of a SentencePiece vocabulary, where each merge hashes the bytes of what it forms: tokens that
/// grow letter by letter cost a text half of this for each of its bytes.
inline constexpr size_t kMaxMergedTokenBytes = 2048;
/// Of tokens that are matched whole, control and user-defined ones: no published one is longer
/// than a line of spaces.
inline constexpr size_t kMaxSpecialTokenBytes = 1024;
/// Of all these together: what finds them in a text holds 17 times as much. The largest published
/// sets are the codes of speech models, 150,000 tokens of 16 bytes.
inline constexpr size_t kMaxSpecialBytes = size_t{4} << 20;

/// The tokens: bytes, type and score of each, and the way back from bytes to id. Immutable once
/// the tokenizer is built; about 40 bytes per token besides its own.
class Vocab {
 public:
  /// Checks and copies the tokens of `spec`. Errors, all kBadModel with the id and what was
  /// expected and found:
  /// - no tokens, more than kMaxTokens, or only empty ones (single empty tokens are legal: they
  ///   fill gaps in the numbering and never match);
  /// - types or scores present but not one per token; a type that is not 1 to 6; a score that is
  ///   not a number;
  /// - a token longer than kMaxTokenBytes (kMaxMergedTokenBytes in a SentencePiece vocabulary,
  ///   kMaxSpecialTokenBytes if control or user-defined), or
  ///   more than kMaxSpecialBytes of control, unknown and user-defined tokens together;
  /// - a byte token that is not spelled "<0x00>" to "<0xFF>" (two upper-case hexadecimal digits);
  /// - two tokens with the same text (llama.cpp aborts on such a file).
  static Result<Vocab> Create(const TokenizerSpec& spec, TokenSpelling spelling);

  TokenId size() const { return static_cast<TokenId>(tokens_.size()); }

  /// The bytes token `id` stands for. This and the next four require 0 <= id < size().
  std::string_view Bytes(TokenId id) const {
    const Token& token = tokens_[static_cast<size_t>(id)];
    return std::string_view(arena_).substr(token.offset, token.length);
  }
  TokenType Type(TokenId id) const { return tokens_[static_cast<size_t>(id)].type; }
  float Score(TokenId id) const { return tokens_[static_cast<size_t>(id)].score; }
  /// True if merging plain text may give this token: it is normal, unused or user-defined, not
  /// empty, and in a SentencePiece vocabulary not spelled with a raw space (text is spelled with
  /// U+2581 there). Control, unknown and byte tokens are never found by their text.
  bool Matchable(TokenId id) const { return tokens_[static_cast<size_t>(id)].matchable; }
  /// True if decoding hides it.
  bool Hidden(TokenId id) const {
    return Type(id) == TokenType::kControl || Type(id) == TokenType::kUnknown;
  }

  /// The token with these bytes; a matchable one if there is one. kNoToken if none.
  TokenId Find(std::string_view bytes) const;
  /// The matchable token with these bytes, or kNoToken.
  TokenId FindMatchable(std::string_view bytes) const;
  /// The token for a single byte that no longer token covers: its byte token, or else the matchable
  /// token with just that byte; kNoToken if neither exists.
  TokenId ByteToken(uint8_t byte) const { return byte_tokens_[byte]; }
  /// Bytes of the longest matchable token.
  size_t max_matchable_bytes() const { return max_matchable_bytes_; }
  /// Key for hash tables over this vocabulary (bytes_hash.h).
  uint64_t hash_key() const { return hash_key_; }

  /// Corrects the type of a token that the file calls normal or user-defined to control. Only while
  /// the tokenizer is being built.
  void MarkControl(TokenId id);

 private:
  struct Token {
    uint32_t offset = 0;  // into arena_
    uint32_t length = 0;
    float score = 0;
    TokenType type = TokenType::kNormal;
    bool matchable = false;
  };

  explicit Vocab(uint64_t hash_key) : index_(0, hash_key), hash_key_(hash_key) {}
  Status AddToken(const TokenizerSpec& spec, size_t i, TokenSpelling spelling);
  Status CheckUnique(const TokenizerSpec& spec) const;
  void BuildIndex();

  std::vector<Token> tokens_;
  std::string arena_;
  TokenIndex index_;
  std::vector<TokenId> byte_tokens_;
  size_t special_bytes_ = 0;
  size_t max_matchable_bytes_ = 0;
  uint64_t hash_key_;
};

/// The byte that a byte token's text means ("<0x0A>" is 10), or -1 if it is not spelled exactly so.
int ParseByteToken(std::string_view text);

}  // namespace skald::text
