/// The mapping from GGUF's tokenizer.ggml.* keys to a tokenizer.
#pragma once

#include "formats/metadata.h"
#include "skald/status.h"
#include "skald/tokenizer.h"
#include "text/tokenizer_spec.h"

namespace skald::load {

/// Reads the tokenizer keys of `metadata`. The views in the result point into `metadata`, which
/// must outlive it. Errors: kBadModel if a required key is missing or one has the wrong type;
/// nothing else is judged here (Tokenizer::Create does that).
///
/// Not read: the ids of tokens skald has no use for (mask, fill-in-the-middle).
Result<text::TokenizerSpec> TokenizerSpecFromMetadata(const formats::Metadata& metadata);

/// TokenizerSpecFromMetadata, then Tokenizer::Create.
Result<Tokenizer> TokenizerFromMetadata(const formats::Metadata& metadata);

}  // namespace skald::load
