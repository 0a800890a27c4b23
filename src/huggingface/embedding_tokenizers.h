/// The tokenizers of embedding models: WordPiece and Unigram.
#pragma once

#include "base/json_tree.h"
#include "formats/metadata_writer.h"
#include "huggingface/tokenizer_vocabulary.h"
#include "skald/status.h"

namespace skald::huggingface {

/// Writes the keys of BERT's WordPiece: tokens as GGUF spells them (U+2581 before the first of a
/// word in place of ## before the others), lower case and accents. Errors: kUnsupported for a
/// normalizer, a splitting or a limit that is not BERT's.
Status WriteWordPiece(JsonValue root, TokenizerVocabulary* vocabulary,
                      formats::MetadataWriter* metadata);

/// Writes the keys of SentencePiece's Unigram: tokens, scores, charsmap and what becomes of spaces.
/// Errors: kUnsupported for steps that SentencePiece does not have; kBadModel for a charsmap that
/// is no base64, an unknown token that is none.
Status WriteUnigram(JsonValue root, TokenizerVocabulary* vocabulary,
                    formats::MetadataWriter* metadata);

}  // namespace skald::huggingface
