#include "cli/man_page.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>
#include <string>

#include "cli/app.h"

namespace skald::cli {
namespace {

std::string Page() {
  Action chosen;
  return ManPage(*MakeApp(chosen));
}

TEST(ManPage, HasEveryVerbAndEveryFlag) {
  const std::string page = Page();
  Action chosen;
  const std::unique_ptr<const CLI::App> app = MakeApp(chosen);
  for (const CLI::App* verb : app->get_subcommands(std::function<bool(const CLI::App*)>())) {
    EXPECT_NE(page.find(".SS skald " + verb->get_name()), std::string::npos);
    for (const CLI::Option* option : verb->get_options()) {
      for (std::string name : option->get_lnames()) {
        for (size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2)
          name.insert(at, "\\");
        EXPECT_NE(page.find("\\-\\-" + name + "\\fR"), std::string::npos) << name;
      }
    }
  }
}

TEST(ManPage, TakesNoTextForARequest) {
  std::istringstream lines(Page());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('.') && !line.starts_with('\'')) continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_TRUE(request == ".TH" || request == ".SH" || request == ".SS" || request == ".TP" ||
                request == ".PP" || request == ".nf" || request == ".fi" || request == ".B")
        << line;
  }
}

}  // namespace
}  // namespace skald::cli
