/// SchemaFacts: what one schema, or several together, say of a value.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "base/json_tree.h"
#include "grammar/number_rule.h"
#include "grammar/string_rule.h"

namespace skald::grammar {

/// Types of JSON, as bits.
enum JsonTypes : uint8_t {
  kNullType = 1,
  kBooleanType = 2,
  kNumberType = 4,
  kStringType = 8,
  kArrayType = 16,
  kObjectType = 32,
  kAllTypes = 63,
};

/// From this many on.
struct Bounds {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();

  bool IsOpen() const { return min == 0 && max == std::numeric_limits<uint64_t>::max(); }
};

struct SchemaFacts {
  uint8_t types = kAllTypes;
  bool never = false;                  ///< `false` is among the schemas
  std::vector<JsonValue> values = {};  ///< arrays of `enum`, values of `const`
  StringLength length = {};
  std::vector<JsonValue> patterns = {};
  std::vector<JsonValue> formats = {};
  NumberRange range = {};
  std::vector<JsonValue> arrays = {};  ///< schemas with keywords of elements
  Bounds items = {};
  std::vector<JsonValue> objects = {};  ///< schemas with keywords of properties
  Bounds properties = {};
  std::vector<JsonValue> required = {};  ///< names
  std::vector<JsonValue> names = {};     ///< schemas of propertyNames
  std::vector<JsonValue> choices = {};   ///< arrays of `anyOf` and `oneOf`

  std::set<uint32_t> merged = {};  ///< indices of the schemas that were taken in
  int references = 0;              ///< how many $ref were followed

  bool BindsStrings() const { return !length.IsOpen() || !patterns.empty() || !formats.empty(); }
  bool BindsArrays() const { return !arrays.empty() || !items.IsOpen(); }
  bool BindsObjects() const {
    return !objects.empty() || !properties.IsOpen() || !required.empty() || !names.empty();
  }
  /// Whether they say nothing, apart from `choices`.
  bool IsOpen() const {
    return types == kAllTypes && !never && values.empty() && range.IsOpen() && !range.whole &&
           !BindsStrings() && !BindsArrays() && !BindsObjects();
  }
};

}  // namespace skald::grammar
