/// Rules of objects: which keys there are, and what follows each.
#pragma once

#include <cstdint>

#include "base/json_tree.h"
#include "grammar/schema_facts.h"
#include "skald/status.h"

namespace skald::grammar {

class SchemaCompiler;

/// The rule of objects that `facts` allow. Errors: kUnsupported for propertyNames that say more
/// than which texts; kInvalidArgument beyond a bound, or if the fuel ran dry.
Result<uint32_t> AddObject(const SchemaFacts& facts, SchemaCompiler* compiler);

/// The rule of the one object that is equal to `value`, with its members in their order.
Result<uint32_t> AddListedObject(JsonValue value, SchemaCompiler* compiler);

}  // namespace skald::grammar
