/// JSON to the values of a template.
#pragma once

#include <boost/json/fwd.hpp>
#include <string_view>

#include "chat/value.h"
#include "skald/status.h"

namespace skald::chat {

/// `json` as Python's json module gives it; its texts are data. Errors: kResourceExhausted if it is
/// nested deeper than kMaxValueDepth.
Result<Value> FromJsonValue(Heap& heap, const boost::json::value& json);

/// Parses `text`. Errors: kInvalidArgument if it is no JSON, or nested deeper than 32 levels.
Result<Value> ParseJson(Heap& heap, std::string_view text);

}  // namespace skald::chat
