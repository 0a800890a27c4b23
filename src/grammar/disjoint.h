/// Whether the branches of `oneOf` exclude one another.
#pragma once

#include <vector>

#include "base/json_tree.h"
#include "grammar/schema_facts.h"
#include "grammar/schema_reader.h"
#include "skald/status.h"

namespace skald::grammar {

/// True if no value can be taken by two of `branches`, and that can be seen: by their types, by the
/// values that they list, or by those of a property that both require. Errors: if the fuel ran dry.
Result<bool> AreDisjoint(const std::vector<SchemaFacts>& branches, SchemaReader* reader);

}  // namespace skald::grammar
