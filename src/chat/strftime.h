/// Python's strftime in the C locale.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "skald/status.h"

namespace skald::chat {

/// `time` by `format`. Conversions: a A b B c d e F H I j m M p S T D u w x X y Y Z z n t %, and
/// the flag "-" against leading zeros. Errors, kUnsupported: any other conversion. The time zone is
/// not known: Z and z are empty, as of Python's datetime.now().
Result<std::string> Strftime(std::string_view format, std::chrono::local_seconds time);

}  // namespace skald::chat
