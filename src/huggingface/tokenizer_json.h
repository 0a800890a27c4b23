/// The tokenizer of a folder: tokenizer.json and what stands beside it, as the keys that the text
/// room reads (tokenizer.ggml.*).
///
/// Read are byte-pair encodings: those of bytes (GPT-2, Llama 3, Qwen, gpt-oss, ...), whose
/// splitting is looked up among the rules that have a name, and those of characters that
/// SentencePiece trained (Llama 2, Mistral, Gemma), whose merges become scores; WordPiece (BERT)
/// and Unigram (XLM-RoBERTa, T5). Others are refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json_tree.h"
#include "formats/metadata_writer.h"
#include "skald/status.h"

namespace skald::huggingface {

/// The documents; all outlive the call. Only the first must be there.
struct TokenizerDocuments {
  const JsonTree& tokenizer;
  const JsonTree* tokenizer_config = nullptr;
  const JsonTree* generation_config = nullptr;
  const JsonTree* config = nullptr;
  std::string_view characters_model = "llama";  ///< of the Architecture
};

/// Writes the keys. `vocab_size`: rows of the embedding; ids that name no token become unused ones.
/// Errors: kBadModel for a vocabulary that contradicts itself; kUnsupported for kinds of tokenizer
/// that are not read.
Status WriteTokenizerKeys(const TokenizerDocuments& documents, int64_t vocab_size,
                          formats::MetadataWriter* metadata);

}  // namespace skald::huggingface
