#include "cli/flags.h"

#include <utility>

namespace skald::cli {

CLI::Option* AddValue(CLI::App& app, const FlagText& text, const char* type, TakeValue take) {
  const auto check = [take](std::string& value) { return take(value).message(); };
  const auto store = [take](const CLI::results_t& values) { return take(values.back()).ok(); };
  return app.add_option(text.names, store, text.help)
      ->type_name(type)
      ->check(CLI::Validator(check, ""))
      ->take_last();
}

CLI::Option* AddTexts(CLI::App& app, const FlagText& text, const char* type,
                      std::vector<std::string>& target) {
  const auto store = [&target](const CLI::results_t& values) {
    target = values;
    return true;
  };
  return app.add_option(text.names, store, text.help)->type_name(type)->take_all();
}

CLI::Option* AddText(CLI::App& app, const FlagText& text, const char* type,
                     std::optional<std::string>& target) {
  return AddValue(app, text, type, [&target](const std::string& value) {
    target = value;
    return Ok();
  });
}

CLI::Option* AddDouble(CLI::App& app, const FlagText& text, double& target) {
  return AddValue(app, text, "X", [&target](const std::string& value) {
    Result<double> number = ParseDouble(value);
    if (number.ok()) target = *number;
    return std::move(number).status();
  });
}

}  // namespace skald::cli
