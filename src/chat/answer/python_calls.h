/// Calls as Python writes them: [f(a="x", b=[1, True]), g()]. LFM2.
///
/// Arguments become JSON: names in quotes, True, False and None as JSON has them, tuples as lists,
/// strings of either quote.
#pragma once

#include <memory>
#include <vector>

#include "chat/answer/call_reader.h"

namespace skald::chat {

/// Whether `symbol` may stand in a name, a number or a word.
bool IsPythonWord(Symbol symbol);

/// `closers`: behind the list.
std::unique_ptr<CallReader> ReadPythonCalls(std::vector<Symbols> closers, CallContext context);

}  // namespace skald::chat
