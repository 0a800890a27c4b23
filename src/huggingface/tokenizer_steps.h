/// TokenizerSteps: the members of a tokenizer.json, which may be of any kind.
#pragma once

#include <string_view>
#include <vector>

#include "base/json_tree.h"

namespace skald::huggingface {

/// The text of a member; empty where there is none.
std::string_view JsonText(JsonValue object, std::string_view name);

/// The flag of a member; `fallback` where there is none.
bool JsonFlag(JsonValue object, std::string_view name, bool fallback);

/// The steps of a normalizer or pre-tokenizer: one, or those of a Sequence, whose list is `inner`.
std::vector<JsonValue> JsonSteps(JsonValue tokenizer, std::string_view name,
                                 std::string_view inner);

}  // namespace skald::huggingface
