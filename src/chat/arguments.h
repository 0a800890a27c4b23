/// Matching the arguments of a call with the parameters of a builtin.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "chat/builtins.h"
#include "skald/status.h"

namespace skald::chat {

/// The arguments in the order of `parameters`; undefined where one was not given. Errors: too many,
/// an unknown name, one of the first `required` missing.
Result<std::vector<Value>> Bind(const Arguments& arguments,
                                std::initializer_list<std::string_view> parameters,
                                size_t required = 0);

/// `value` as a whole number, `missing` if it is undefined or none. Errors: another type; a number
/// that is not within 0 to kMaxWidth in amount.
Result<int64_t> SmallNumber(const Value& value, int64_t missing);

}  // namespace skald::chat
