/// Tool choice: which of its tools a model may call, and whether it must.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "server/chat_tools.h"
#include "server/fields.h"

namespace skald::server {

/// `use` as the field `name`, of OpenAI's APIs, leaves it: auto, none, required, a function by its
/// name, allowed_tools. Fails for what is none of these, for tools that are not there, and for a
/// call that is wanted where there are none.
ChatToolUse ChooseTools(Fields& fields, std::string_view name, ChatToolUse use);

/// At least one call is wanted. `choice`: as it was asked for.
void MustCall(Fields& fields, std::string_view name, const boost::json::value& choice,
              ChatToolUse* use);

/// That one, once.
void MustCallTool(Fields& fields, std::string_view name, std::string_view tool, ChatToolUse* use);

}  // namespace skald::server
