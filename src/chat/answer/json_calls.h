/// Calls as JSON objects: {"name": ..., "arguments": {...}}, one or a list of them.
///
/// Hermes and Qwen, Llama 3, Mistral Nemo, Command R7B, Nemotron Nano, Granite 3. Members come in
/// any order; "parameters" is "arguments", "tool_name" is "name", "tool_call_id" is "id"; others
/// are passed over.
#pragma once

#include <memory>
#include <vector>

#include "chat/answer/call_reader.h"

namespace skald::chat {

struct JsonCallForm {
  /// Behind the object or the list; none: nothing is.
  std::vector<Symbols> closers = {};
  /// The id comes behind the arguments, which therefore wait for it.
  bool id_behind = false;
  /// An object without arguments is no call: it came without a marker.
  bool needs_arguments = false;
};

std::unique_ptr<CallReader> ReadJsonCalls(JsonCallForm form, CallContext context);

}  // namespace skald::chat
