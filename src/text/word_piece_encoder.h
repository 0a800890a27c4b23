/// WordPieceEncoder: the tokenizer of BERT, model "bert" in GGUF files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "text/text_encoder.h"
#include "text/token_trie.h"
#include "text/tokenizer_spec.h"
#include "text/vocab.h"

namespace skald::text {

/// Cleans a text, cuts it into words, and each word into the longest tokens from the left.
///
/// As Hugging Face's BertNormalizer, BertPreTokenizer and WordPiece: control, format and
/// private-use characters and U+FFFD go; white space ends a word; a punctuation mark or a Chinese
/// character is a word; accents (the category Mn, after canonical decomposition) are stripped where
/// the file says so, else where it asks for lower case, which it does if it says nothing. In the
/// file the first token of a word begins with U+2581, the others do not. A word that cannot be
/// spelled to its end, or has more than 100 characters, is one unknown token. Bytes that are no
/// UTF-8 count as U+FFFD. Decoding does not give the text back: it was normalized. Immutable;
/// thread-safe.
class WordPieceEncoder : public TextEncoder {
 public:
  /// `vocab` was made from `spec` and must outlive the encoder. Errors: kBadModel for a vocabulary
  /// without an unknown token.
  static Result<WordPieceEncoder> Create(const TokenizerSpec& spec, const Vocab& vocab,
                                         TokenId unk);

  /// Time: linear in the text, times the length of the longest token that fits. Errors: kCancelled
  /// if the scratch's pace ended it.
  Status Encode(std::string_view text, MergeScratch* scratch,
                std::vector<TokenId>* out) const override;
  bool Forms(TokenId /*id*/) const override { return false; }  // it has no list of merges

 private:
  // A word while it is read.
  struct Word {
    std::string bytes;  // with the space that its first token begins with
    size_t characters = 0;
  };

  WordPieceEncoder(const Vocab& vocab, TokenId unk);
  void AppendNormalized(uint32_t code_point, std::vector<uint32_t>* out) const;
  size_t LongestToken(std::string_view text, TokenId* id) const;
  void Finish(Word* word, std::vector<TokenId>* out) const;

  const Vocab* vocab_;
  TokenId unk_;
  TokenTrie trie_;
  bool lower_case_ = true;
  bool strip_accents_ = true;
};

}  // namespace skald::text
