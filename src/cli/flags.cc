#include "cli/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/suggest.h"

namespace skald::cli {

namespace {

CLI::Validator ValidatorOf(const TakeValue& take) {
  return CLI::Validator([take](std::string& value) { return take(value).message(); }, "");
}

// Names as they are typed after --, without it.
std::vector<std::string> NamesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back(name);
    for (const std::string& name : option->get_snames()) names.push_back(name);
  }
  return names;
}

}  // namespace

AddedFlag AddedFlag::Group(const char* name) {
  option_->group(name);
  return *this;
}

AddedFlag AddedFlag::Require() {
  option_->required();
  return *this;
}

AddedFlag AddedFlag::TakeAllWords() {
  option_->expected(-1);
  return *this;
}

AddedFlag AddValue(CLI::App& app, const FlagText& text, const char* type, TakeValue take) {
  const auto store = [take](const CLI::results_t& values) { return take(values.back()).ok(); };
  return AddedFlag(app.add_option(text.names, store, text.help)
                       ->type_name(type)
                       ->check(ValidatorOf(take))
                       ->take_last());
}

AddedFlag AddValues(CLI::App& app, const FlagText& text, const char* type, TakeValue check,
                    std::function<void(const std::vector<std::string>& values)> store) {
  const auto take = [store = std::move(store)](const CLI::results_t& values) {
    store(values);
    return true;
  };
  return AddedFlag(app.add_option(text.names, take, text.help)
                       ->type_name(type)
                       ->check(ValidatorOf(check))
                       ->take_all());
}

AddedFlag AddTexts(CLI::App& app, const FlagText& text, const char* type,
                   std::vector<std::string>& target) {
  const auto any = [](const std::string&) { return Ok(); };
  return AddValues(app, text, type, any,
                   [&target](const std::vector<std::string>& values) { target = values; });
}

AddedFlag AddCallback(CLI::App& app, const FlagText& text, std::function<void()> given) {
  return AddedFlag(
      app.add_flag_callback(text.names, std::move(given), text.help)->disable_flag_override());
}

AddedFlag AddBytes(CLI::App& app, const FlagText& text, int64_t& target, int64_t max) {
  return AddValue(app, text, "SIZE", [&target, max](const std::string& value) {
    Result<int64_t> number = ParseBytes(value, max);
    if (number.ok()) target = *number;
    return std::move(number).status();
  });
}

AddedFlag AddDouble(CLI::App& app, const FlagText& text, double& target) {
  return AddValue(app, text, "X", [&target](const std::string& value) {
    Result<double> number = ParseDouble(value);
    if (number.ok()) target = *number;
    return std::move(number).status();
  });
}

CLI::App& AddVerb(CLI::App& root, const VerbText& text) {
  CLI::App& verb = *root.add_subcommand(text.name, text.help);
  verb.footer(text.examples);
  return verb;
}

void OnParsed(CLI::App& verb, std::function<void()> parsed) { verb.callback(std::move(parsed)); }

Status SetByName(const std::function<void(CLI::App&)>& add, const std::string& name,
                 const std::string& value) {
  CLI::App app;
  add(app);
  std::string wanted = name;
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  const std::vector<std::string> known = NamesOf(app);
  if (std::find(known.begin(), known.end(), wanted) == known.end()) {
    const std::string nearest = Nearest(wanted, known);
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("there is no setting '{}'{}", name,
                              nearest.empty() ? "; 'skald chat --help' lists the flags"
                                              : fmt::format("; did you mean {}?", nearest)));
  }
  std::vector<std::string> arguments{value, (wanted.size() == 1 ? "-" : "--") + wanted};
  if (value.empty()) arguments.erase(arguments.begin());
  // CLI11 reports by exceptions.
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return Status(ErrorCode::kInvalidArgument, error.what());
  }
  return Ok();
}

}  // namespace skald::cli
