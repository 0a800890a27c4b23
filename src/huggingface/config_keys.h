/// ConfigKeys: what a config.json alone says of a model: the keys of its family and the types of
/// its weights, without a tokenizer and without a tensor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "skald/status.h"
#include "tensor/dtype.h"

namespace skald::huggingface {

struct ConfigKeys {
  /// As of a GGUF file of the family. The length of the vocabulary is its key "vocab_size", because
  /// there are no tokens to count.
  formats::Metadata metadata;
  tensor::DType matrices = tensor::DType::kBF16;
  std::optional<tensor::DType> experts = {};  ///< of those of a mixture, where they differ
  bool is_tied = false;                       ///< the head is the embedding again
  /// Names of those tensors that tell models of the family apart, of the ones that this one has.
  std::vector<std::string> names = {};
};

/// Reads the text of a config.json. Errors: kBadModel for no JSON, missing and impossible members;
/// kUnsupported for an architecture or a member that this version does not run. Bounded by the
/// bounds of JsonTree.
Result<ConfigKeys> ReadConfigKeys(std::string_view text);

}  // namespace skald::huggingface
