/// JsonScanner: finds the end of a JSON value while it comes.
///
/// Only strings and brackets are looked at: what a model writes between is passed on as it stands,
/// as OpenAI's API does, whose clients check the arguments. No recursion; one step a symbol.
#pragma once

#include <cstdint>

#include "chat/answer/symbols.h"

namespace skald::chat {

/// For a value that begins with a bracket or a quote.
class JsonScanner {
 public:
  /// True if `symbol` was the last one of the value.
  bool Push(Symbol symbol) {
    if (in_string_) return PushInString(symbol);
    if (symbol == '"') {
      in_string_ = true;
    } else if (symbol == '{' || symbol == '[') {
      ++depth_;
    } else if (symbol == '}' || symbol == ']') {
      --depth_;
      return depth_ <= 0;
    }
    return false;
  }

 private:
  bool PushInString(Symbol symbol) {
    if (escaped_) {
      escaped_ = false;
    } else if (symbol == '\\') {
      escaped_ = true;
    } else if (symbol == '"') {
      in_string_ = false;
      return depth_ == 0;
    }
    return false;
  }

  int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace skald::chat
