/// Splitting: how a tokenizer.json cuts a text before it merges.
#pragma once

#include <string>

#include "base/json_tree.h"
#include "skald/status.h"

namespace skald::huggingface {

struct Splitting {
  bool is_of_bytes = true;  ///< else of characters, with tokens for bytes that are none
  std::string rule = {};    ///< of bytes: the name of the rule (text/pre_tokenizer_rules.h)
  bool adds_space = false;  ///< of characters: a space before the text
};

/// Reads it from the document's normalizer, pre_tokenizer and model. A rule is found by comparing
/// the published patterns with those of the rules that have a name: what no rule has is refused,
/// with its patterns. Errors: kUnsupported.
Result<Splitting> ReadSplitting(JsonValue tokenizer);

}  // namespace skald::huggingface
