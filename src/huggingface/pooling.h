/// Pooling: how the embedding of a text is made of those of its tokens, from the documents of
/// sentence-transformers.
#pragma once

#include <string>

#include "huggingface/architecture.h"
#include "skald/status.h"

namespace skald::huggingface {

/// Writes pooling_type from modules.json and the config.json of its pooling, if there are any.
/// Errors: kUnsupported for steps that no family has (a projection), and for ways to pool but the
/// first token, the last and the mean; kBadModel for a path that leads out of the folder.
Status WritePooling(const std::string& folder, KeyWriter* keys);

}  // namespace skald::huggingface
