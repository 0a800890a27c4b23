/// Calls field by field: the name of the tool, then each argument between markers of its own.
///
/// Qwen3-Coder, Seed-OSS, GLM, MiniMax, DeepSeek V3.2. Strings stand there without quotes, so what
/// a value is comes from what the tool declares (ChatTool::Kind), or, in DeepSeek's, from its
/// marker.
#pragma once

#include <memory>
#include <vector>

#include "chat/answer/call_reader.h"

namespace skald::chat {

/// Which words stand where. White space between them does not count.
struct FieldCallForm {
  Symbols call_open = {};  ///< in front of the name; none: the name comes at once
  Symbols name_end = {};   ///< none: white space, key_open or call_close end it
  Symbols key_open = {};
  Symbols key_end = {};
  Symbols string_key_end = {};  ///< behind a key whose value is a string; key_end: it is none
  Symbols value_open = {};      ///< none: the value comes behind the key
  Symbols value_close = {};
  Symbols call_close = {};
  Symbols section_close = {};   ///< behind the calls; none: behind one call nothing comes
  bool trims_newlines = false;  ///< a newline on either side of a value is none of it
};

std::unique_ptr<CallReader> ReadFieldCalls(FieldCallForm form, CallContext context);

}  // namespace skald::chat
