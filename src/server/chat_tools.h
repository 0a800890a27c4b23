/// Chat tools: `tools`, `tool_choice`, `parallel_tool_calls` of a chat, and what came before them,
/// `functions` and `function_call`.
///
/// The template gets the definitions as they stand, as transformers gives them; they are data, as
/// all that a client writes. What reads the answer gets names and kinds of arguments.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "server/fields.h"
#include "skald/chat_answer.h"

namespace skald::server {

/// Bounds, as in OpenAI's API where that has one.
inline constexpr size_t kMaxTools = 128;
inline constexpr size_t kMaxToolNameBytes = 128;
inline constexpr size_t kMaxToolBytes = size_t{1} << 20;  ///< names and strings of all definitions

/// What a chat may call.
struct ChatToolUse {
  boost::json::array definitions = {};  ///< for the template
  /// The same for the reader of the answer; nullptr: there are none.
  std::shared_ptr<const std::vector<ChatTool>> tools = {};
  bool one_call = false;     ///< parallel_tool_calls: false
  bool as_function = false;  ///< asked by `functions`, and answered so
};

/// Fails for what is no list of tools, and for choices that take more than reading what comes.
ChatToolUse ReadChatTools(Fields& fields);

/// Whether a tool may be called so: 1 to kMaxToolNameBytes of letters, digits, '_', '-' and '.'.
bool IsToolName(std::string_view name);

}  // namespace skald::server
