#include "chat/arguments.h"

#include <algorithm>

namespace skald::chat {

Result<std::vector<Value>> Bind(const Arguments& arguments,
                                std::initializer_list<std::string_view> parameters,
                                size_t required) {
  const auto refuse = [](std::string message) {
    return Status(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (arguments.positional() > parameters.size()) {
    return refuse("expected at most " + std::to_string(parameters.size()) + " arguments, found " +
                  std::to_string(arguments.positional()));
  }
  std::vector<Value> bound(parameters.size(), Undefined{});
  std::vector<bool> given(parameters.size(), false);
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    size_t place = i;
    if (i >= arguments.positional()) {
      const std::string& name = arguments.names[i - arguments.positional()];
      const auto* found = std::find(parameters.begin(), parameters.end(), name);
      if (found == parameters.end()) return refuse("there is no argument '" + name + "'");
      place = static_cast<size_t>(found - parameters.begin());
      if (given[place]) return refuse("the argument '" + name + "' is given twice");
    }
    bound[place] = arguments.values[i];
    given[place] = true;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!given[i])
      return refuse("the argument '" + std::string(parameters.begin()[i]) + "' is missing");
  }
  return bound;
}

Result<int64_t> SmallNumber(const Value& value, int64_t missing) {
  if (IsUndefined(value) || IsNone(value)) return missing;
  int64_t storage = 0;
  const int64_t* whole = AsInt(value, &storage);
  if (whole == nullptr || *whole < -kMaxWidth || *whole > kMaxWidth) {
    return Status(ErrorCode::kInvalidArgument, "expected a whole number up to " +
                                                   std::to_string(kMaxWidth) + ", found " +
                                                   std::string(TypeName(value)));
  }
  return *whole;
}

}  // namespace skald::chat
