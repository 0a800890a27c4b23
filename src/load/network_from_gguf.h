/// From the keys of a GGUF file to a network without its tensors.
#pragma once

#include <optional>

#include "formats/metadata.h"
#include "formats/tensor_directory.h"
#include "model/network.h"
#include "skald/conventions.h"
#include "skald/ids.h"
#include "skald/status.h"

namespace skald::load {

/// The network of the file's family (model/families/families.h), valid. The vocabulary size is that
/// of the tokenizer's token list; where there is none, the key vocab_size. Of `tensors` only the
/// names are asked for; what is in them, rope factors too, is read later (bind_weights.h).
/// Errors: kUnsupported for an architecture or a feature that this version does not run, with what
/// it runs; kBadModel for missing keys, wrong types and numbers that make no sense, naming the key.
Result<model::Network> NetworkFromGguf(const formats::Metadata& metadata,
                                       const formats::TensorDirectory& tensors,
                                       Conventions conventions = Conventions::kPublisher);

/// What the file says its embeddings are made of (llama.cpp's pooling_type: 1 mean, 2 the first
/// token, 3 the last); nothing if it says nothing; kNone for other kinds: ranks. Errors: kBadModel,
/// the wrong type.
Result<std::optional<Pooling>> PoolingFromMetadata(const formats::Metadata& metadata);

}  // namespace skald::load
