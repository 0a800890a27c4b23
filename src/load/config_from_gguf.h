/// The mapping from a file's architecture keys to a ModelConfig.
#pragma once

#include <optional>

#include "formats/metadata.h"
#include "model/config.h"
#include "skald/ids.h"
#include "skald/status.h"

namespace skald::load {

/// Reads and validates the network's shape. The vocabulary size is that of the tokenizer's token
/// list. Not read: rope factors, which are a tensor (bind_weights.h). Errors: kUnsupported for an
/// architecture, a rope scaling or a mixture of experts that this version does not run, with what
/// it runs; kBadModel for missing keys, wrong types and numbers that make no sense, naming the key.
Result<model::ModelConfig> ConfigFromMetadata(const formats::Metadata& metadata);

/// What the file says its embeddings are made of (llama.cpp's pooling_type: 1 mean, 3 last);
/// nothing if it says nothing; kNone for other kinds: the first token, ranks. Errors: kBadModel,
/// the wrong type.
Result<std::optional<Pooling>> PoolingFromMetadata(const formats::Metadata& metadata);

}  // namespace skald::load
