/// Pooling: how the embedding of a text is made of those of its tokens, from the documents of
/// sentence-transformers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "huggingface/architecture.h"
#include "skald/status.h"

namespace skald::huggingface {

/// How ways to pool are numbered in GGUF.
enum class PoolingType : int64_t { kMean = 1, kFirst = 2, kLast = 3 };

void WritePoolingType(PoolingType type, KeyWriter* keys);

/// The first matrix behind the pooling is the third step, and is called after that.
inline constexpr size_t kFirstProjection = 2;

/// Writes pooling_type from modules.json and the config.json of its pooling, if there are any, and
/// the sizes of the matrices behind it (Architecture::projects). Returns the folders that have
/// these, two or none. Errors: kUnsupported for steps that the family has not, and for ways to pool
/// but the first token, the last and the mean; kBadModel for a path that leads out of the folder.
Result<std::vector<std::string>> WritePooling(const std::string& folder,
                                              const Architecture& architecture, KeyWriter* keys);

}  // namespace skald::huggingface
