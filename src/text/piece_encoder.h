/// PieceEncoder: BPE behind a pre-tokenizer, the models "gpt2" and "gemma4" of GGUF files.
#pragma once

#include <string_view>
#include <vector>

#include "text/bpe_encoder.h"
#include "text/pre_tokenizer.h"
#include "text/text_encoder.h"

namespace skald::text {

/// Cuts text into pieces and merges within each. Where the rule asks for it the text is normalized
/// first; over an alphabet of characters U+2581 is a space. A sequence that is not UTF-8 is a piece
/// of its own and keeps its bytes; where the vocabulary cannot spell them it is U+FFFD instead
/// (docs/decisions/0012).
class PieceEncoder : public TextEncoder {
 public:
  /// What is done to a text before it is cut into pieces.
  struct Before {
    Normalization normalization = Normalization::kNone;
    Alphabet alphabet = Alphabet::kBytes;
  };

  PieceEncoder(PreTokenizer pieces, BpeEncoder bpe, Before before);

  Status Encode(std::string_view text, MergeScratch* scratch,
                std::vector<TokenId>* out) const override;
  bool Forms(TokenId id) const override { return bpe_.IsMergeProduct(id); }

 private:
  PreTokenizer pieces_;
  BpeEncoder bpe_;
  Before before_;
};

}  // namespace skald::text
