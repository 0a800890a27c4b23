/// SpecialTokens: the tokens with a meaning, from the documents beside a tokenizer.json.
#pragma once

#include "formats/metadata_writer.h"
#include "huggingface/tokenizer_json.h"
#include "huggingface/tokenizer_vocabulary.h"

namespace skald::huggingface {

/// Writes the ids of the tokens that tokenizer_config.json names, else generation_config.json and
/// config.json number, and which of them stand around a text: the post-processor says so, unless
/// tokenizer_config.json does. An id beyond the vocabulary is none.
void WriteSpecialTokens(const TokenizerDocuments& documents, const TokenizerVocabulary& vocabulary,
                        formats::MetadataWriter* metadata);

/// The same of WordPiece, which has one token in front of a text and one behind it.
void WriteFrameTokens(const TokenizerDocuments& documents, const TokenizerVocabulary& vocabulary,
                      formats::MetadataWriter* metadata);

}  // namespace skald::huggingface
