/// How Python writes values as text: str, repr and json.dumps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/budget.h"
#include "chat/text.h"
#include "chat/value.h"
#include "skald/status.h"

namespace skald::chat {

/// Python's str(value). A text is itself, with the origin of its bytes; everything else is data.
Text ToText(Budget& budget, const Value& value);

/// Python's repr(number): the shortest digits that give the number back; exponents below 1e-4 and
/// from 1e16 on.
std::string FormatDouble(double number);

/// Options of json.dumps.
struct JsonStyle {
  bool ascii = false;                 ///< ensure_ascii: everything else as \uhhhh
  bool sorted = false;                ///< sort_keys
  std::optional<std::string> indent;  ///< of a level; without it all is one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// Python's json.dumps(value): data, all of it. Errors: what is not JSON (undefined, functions,
/// generators), keys of other types, nesting deeper than kMaxValueDepth.
Result<Text> ToJson(Budget& budget, const Value& value, const JsonStyle& style);

}  // namespace skald::chat
