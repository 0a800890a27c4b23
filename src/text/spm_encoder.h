/// SpmEncoder: SentencePiece BPE, the tokenizer of model "llama" in GGUF files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "text/text_encoder.h"
#include "text/vocab.h"

namespace skald::text {

/// Whether each text gets a space in front, so that its first word is spelled as the others.
enum class SpacePrefix : uint8_t { kNone, kAdd };

/// Splits text into characters and merges neighbours as long as what they form is a token: highest
/// score first, then leftmost. A character that ends up in no token is spelled by byte tokens;
/// where the vocabulary has none it is the unknown token, and nothing where that is missing, too.
///
/// Semantics of llama.cpp's llm_tokenizer_spm, with three differences, none of which real text and
/// vocabularies show: control, unknown and byte tokens are never formed from text; each byte of
/// ill-formed UTF-8 is a character of its own; a space that is no token is the byte 0x20, not the
/// three bytes of U+2581. Immutable; thread-safe.
class SpmEncoder : public TextEncoder {
 public:
  /// `vocab` must outlive the encoder. `unk` may be kNoToken.
  SpmEncoder(const Vocab& vocab, TokenId unk, SpacePrefix prefix);

  /// Appends the tokens of `text`; U+2581 in it is a space. Every text gets the prefix, as each
  /// follows a special token or stands at the beginning. Time O(n log n) times the cost of hashing
  /// a token. Errors: kCancelled if the scratch's pace ended it.
  Status Encode(std::string_view text, MergeScratch* scratch,
                std::vector<TokenId>* out) const override;
  bool Forms(TokenId /*id*/) const override { return false; }  // it has no list of merges

 private:
  Status EncodeSegment(std::string_view text, MergeScratch* scratch,
                       std::vector<TokenId>* out) const;
  void AppendSymbol(std::string_view bytes, TokenId id, std::vector<TokenId>* out) const;

  const Vocab* vocab_;
  TokenId unk_;
  SpacePrefix prefix_;
  bool words_are_separate_;  // no token holds a space after something else
};

}  // namespace skald::text
