/// Values that a schema lists: `enum` and `const`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json_tree.h"
#include "grammar/schema_facts.h"
#include "grammar/schema_reader.h"
#include "skald/status.h"

namespace skald::grammar {

/// A text that is equal for values that are equal, and only for these: members sorted, numbers
/// without zeros that say nothing.
std::string CanonicalText(JsonValue value);

/// The type of a value.
uint8_t TypeOf(JsonValue value);

/// A number, a text, true, false or null as it is spelled; not for arrays and objects.
std::string ScalarText(JsonValue value);

/// The values that `facts` list and allow, each once. Nothing if they list none. Errors:
/// kUnsupported where arrays or objects are listed beside keywords that bind these; those of
/// patterns.
Result<std::optional<std::vector<JsonValue>>> ListedValues(const SchemaFacts& facts,
                                                           SchemaReader* reader);

/// Whether `automaton`, which is deterministic, takes `text`.
bool Takes(const Automaton& automaton, std::string_view text);

}  // namespace skald::grammar
