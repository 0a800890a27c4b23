/// Calls of Gemma 4: call:f{a:1,s:<|"|>text<|"|>}: names bare, strings between marks of their own.
#pragma once

#include <memory>

#include "chat/answer/call_reader.h"

namespace skald::chat {

struct GemmaCallForm {
  Symbols quote;   ///< around strings; its first symbol stands nowhere else in it
  Symbols closer;  ///< behind a call
};

std::unique_ptr<CallReader> ReadGemmaCalls(GemmaCallForm form, CallContext context);

}  // namespace skald::chat
