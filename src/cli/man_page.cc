#include "cli/man_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

#include "skald/version.h"

namespace skald::cli {

namespace {

// `text` as it is: no character of it is a request, an escape or a dash that breaks.
std::string Escaped(std::string_view text) {
  std::string escaped;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
    starts_line = c == '\n';
  }
  return escaped;
}

std::string FlagEntry(const CLI::Option& option) {
  std::string names;
  const auto add = [&names](const std::string& name) {
    names += (names.empty() ? "\\fB" : ", \\fB") + Escaped(name) + "\\fR";
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (option.get_items_expected_max() > 0)
    names += " \\fI" + Escaped(option.get_type_name()) + "\\fR";
  return fmt::format(".TP\n{}\n{}\n", names, Escaped(option.get_description()));
}

// The end of a help: paragraphs as they are typed.
std::string Footer(const CLI::App& app) {
  return app.get_footer().empty() ? std::string()
                                  : fmt::format(".PP\n.nf\n{}.fi\n", Escaped(app.get_footer()));
}

std::string VerbSection(const CLI::App& verb) {
  std::string line = "skald " + verb.get_name() + " [OPTIONS]";
  std::string flags;
  std::string words;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->nonpositional()) {
      flags += FlagEntry(*option);
    } else {
      line += " [" + option->get_name(true) + "]";
      words += fmt::format(".TP\n\\fI{}\\fR\n{}\n", Escaped(option->get_name(true)),
                           Escaped(option->get_description()));
    }
  }
  return fmt::format(".SS {}\n{}.\n.PP\n{}\n{}{}", Escaped(line), Escaped(verb.get_description()),
                     "Flags:", words, flags) +
         Footer(verb);
}

}  // namespace

std::string ManPage(const CLI::App& root) {
  std::string page = fmt::format(
      ".TH SKALD 1 \"\" \"skald {}\" \"User Commands\"\n.SH NAME\nskald \\- {}\n.SH SYNOPSIS\n"
      ".B skald\n\\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIWORDS\\fR]\n.SH VERBS\n",
      kVersion, "runs language models on the CPU");
  for (const CLI::App* verb : root.get_subcommands(std::function<bool(const CLI::App*)>()))
    page += VerbSection(*verb);
  page += ".SH EXAMPLES AND EXIT STATUS\n" + Footer(root);
  page +=
      ".SH ENVIRONMENT\nSKALD_MODELS, XDG_DATA_HOME, HOME (where models are), HF_HUB_CACHE, "
      "HF_HOME, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, SSL_CERT_FILE, https_proxy (where they "
      "come from), NO_COLOR, "
      "CLICOLOR_FORCE, TERM (colour).\n.SH SEE ALSO\nThe documents cli.md, chat.md and server.md "
      "beside the program.\n";
  return page;
}

}  // namespace skald::cli
