/// Flags: typed options on a CLI11 application, with strict values and one-line messages.
///
/// CLI11 does the splitting of the command line; what a value means is decided here, so that the
/// rules are the same for every flag: the whole text must be the value (parse_number.h), the last
/// of several wins, and a text that happens to look like CLI11's list syntax is just a text.
#pragma once

#include <fmt/format.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11_forward.h"
#include "cli/parse_number.h"
#include "skald/status.h"

namespace skald::cli {

/// How a flag is called and explained.
struct FlagText {
  std::string names;  ///< "-n,--n-predict"; without dashes for a positional argument
  std::string help;   ///< one line, with the default
};

/// Types of values as they stand in the help; the shell completions read them, too.
inline constexpr const char* kFileType = "FILE";
inline constexpr const char* kModelType = "MODEL";
inline constexpr const char* kTextType = "TEXT";

/// A flag that was just added, to say more about it.
class AddedFlag {
 public:
  explicit AddedFlag(CLI::Option* option) : option_(option) {}

  /// The heading under which the help lists it.
  AddedFlag Group(const char* name);
  /// A command line without it is refused.
  AddedFlag Require();
  /// A positional argument that takes all words that are left, one at least.
  AddedFlag TakeAllWords();

 private:
  CLI::Option* option_;
};

/// Takes the text of a value; an error's message is shown to the user after the flag's name.
using TakeValue = std::function<Status(const std::string& text)>;

/// Adds a flag with one value. `take` is called to check every occurrence and once more with the
/// last one, so it must be a plain assignment.
AddedFlag AddValue(CLI::App& app, const FlagText& text, const char* type, TakeValue take);

/// Adds a flag that may be given several times. `check` sees each value, then `store` all of them
/// in order.
AddedFlag AddValues(CLI::App& app, const FlagText& text, const char* type, TakeValue check,
                    std::function<void(const std::vector<std::string>& values)> store);

/// Adds a flag that may be given several times; `target` gets every value in order.
AddedFlag AddTexts(CLI::App& app, const FlagText& text, const char* type,
                   std::vector<std::string>& target);

/// Adds a flag without a value; `given` is called where it stands.
AddedFlag AddCallback(CLI::App& app, const FlagText& text, std::function<void()> given);

/// Adds a flag without a value; `target` becomes `value` when it is given.
template <typename T>
AddedFlag AddSwitch(CLI::App& app, const FlagText& text, T& target, T value) {
  return AddCallback(app, text, [&target, value] { target = value; });
}

/// Adds a flag whose value is any text. `target` is a text, or an optional one.
template <typename Text>
AddedFlag AddText(CLI::App& app, const FlagText& text, const char* type, Text& target) {
  return AddValue(app, text, type, [&target](const std::string& value) {
    target = value;
    return Ok();
  });
}

/// Adds a flag whose value is a whole number in `range`.
template <std::integral T>
AddedFlag AddInt(CLI::App& app, const FlagText& text, T& target, Range<T> range) {
  return AddValue(app, text, "N", [&target, range](const std::string& value) {
    Result<T> number = ParseInt<T>(value, range);
    if (number.ok()) target = *number;
    return std::move(number).status();
  });
}

/// Adds a flag whose value is a number of bytes, as ParseBytes takes it.
AddedFlag AddBytes(CLI::App& app, const FlagText& text, int64_t& target, int64_t max);

/// Adds a flag whose value is a finite number. Its range is checked with the other parameters.
AddedFlag AddDouble(CLI::App& app, const FlagText& text, double& target);

/// One of the words a flag takes.
template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

/// Adds a flag whose value is one of a few words.
template <typename Target, typename T, size_t kCount>
AddedFlag AddChoice(CLI::App& app, const FlagText& text, Target& target,
                    const std::array<Choice<T>, kCount>& choices) {
  std::string words;
  for (const Choice<T>& choice : choices)
    words += (words.empty() ? "" : "|") + std::string(choice.name);
  return AddValue(app, text, words.c_str(), [&target, choices, words](const std::string& value) {
    for (const Choice<T>& choice : choices) {
      if (choice.name != value) continue;
      target = choice.value;
      return Ok();
    }
    return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' is not one of {}", value, words));
  });
}

/// What a verb is called and how it is explained.
struct VerbText {
  const char* name;
  const char* help;      ///< one line
  const char* examples;  ///< the end of its own help
};

/// Adds a verb, which then takes flags.
CLI::App& AddVerb(CLI::App& root, const VerbText& text);

/// Calls `parsed` when a command line with this verb was parsed without an error.
void OnParsed(CLI::App& verb, std::function<void()> parsed);

/// Gives the flag called `name` (without dashes; _ counts as -) of those that `add` adds the value
/// `value`, as if they stood on a command line. Errors: kInvalidArgument, with what was meant.
Status SetByName(const std::function<void(CLI::App&)>& add, const std::string& name,
                 const std::string& value);

}  // namespace skald::cli
