/// UnigramEncoder: SentencePiece's unigram model, the tokenizer of model "t5" in GGUF files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "text/charsmap.h"
#include "text/text_encoder.h"
#include "text/token_trie.h"
#include "text/tokenizer_spec.h"
#include "text/vocab.h"

namespace skald::text {

/// Normalizes a text and takes the tokens whose scores have the largest sum.
///
/// Normalization: the charsmap's longest match at each place, or the character itself (a byte that
/// is in no character becomes U+FFFD); bytes with which a user-defined token begins, too, stay as
/// they are; then spaces: with `remove_extra_whitespaces` one in front of
/// each word and no others, otherwise all of them, and one in front if `add_space_prefix` says so.
/// So decoding does not give the text back: it was normalized.
///
/// Scores are the file's floats, clamped to finite ones; 0 for user-defined tokens. A character
/// that is no token as a whole costs the smallest score of a normal token less 10, as floats. Sums
/// are doubles, added from the left, one token after another. Of equal sums the one that was found
/// first stays: the last token is the longest. Neighbours without a token are spelled by byte
/// tokens, and together are one unknown token where the vocabulary has none. Source: llama.cpp's
/// llm_tokenizer_ugm; Kudo, "Subword Regularization" (2018). Immutable; thread-safe.
class UnigramEncoder : public TextEncoder {
 public:
  /// `vocab` was made from `spec` and must outlive the encoder. Errors: kBadModel for a vocabulary
  /// without an unknown token, and for a charsmap that Charsmap refuses.
  static Result<UnigramEncoder> Create(const TokenizerSpec& spec, const Vocab& vocab, TokenId unk);

  /// Time: linear in the text, times the length of the longest token that fits. Memory: 16 bytes
  /// for each of the normalized text. Errors: kResourceExhausted for a text that is longer than
  /// Tokenizer::kMaxTextBytes when it is normalized; kCancelled if the scratch's pace ended it.
  Status Encode(std::string_view text, MergeScratch* scratch,
                std::vector<TokenId>* out) const override;
  bool Forms(TokenId /*id*/) const override { return false; }  // it has no list of merges

 private:
  // The best way to a place of the text: the token before it and where that begins.
  struct Way {
    double score;
    int32_t begin;
    TokenId id;
  };

  UnigramEncoder(const Vocab& vocab, TokenId unk);
  std::string_view NormalizedPrefix(std::string_view text, size_t* length) const;
  Result<std::string> Normalize(std::string_view text, Pace* pace) const;
  void Extend(std::string_view text, size_t begin, size_t character, std::vector<Way>* ways) const;
  void AppendUnknown(std::string_view bytes, std::vector<TokenId>* out) const;

  const Vocab* vocab_;
  TokenId unk_;
  TokenTrie trie_;
  TokenTrie user_defined_;  // spelled as in the file
  Charsmap charsmap_;
  bool space_prefix_ = true;
  bool merges_spaces_ = true;
  float unknown_score_;
};

}  // namespace skald::text
