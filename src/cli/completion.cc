#include "cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "cli/man_page.h"

namespace skald::cli {

namespace {

// What the value of a flag completes to.
enum class ValueKind : uint8_t { kNoValue, kFile, kWords, kOther };

struct Flag {
  std::vector<std::string> shorts;  // without dashes
  std::vector<std::string> longs;
  std::string help;
  ValueKind kind = ValueKind::kNoValue;
  std::string words = {};  // kWords: separated by spaces
};

struct Verb {
  std::string name;
  std::string help;
  std::vector<Flag> flags;
};

Flag FlagOf(const CLI::Option& option) {
  Flag flag{option.get_snames(), option.get_lnames(), option.get_description()};
  if (option.get_items_expected_max() == 0) return flag;
  const std::string type = option.get_type_name();
  if (type == kFileType || type == kModelType) {
    flag.kind = ValueKind::kFile;
  } else if (type.find('|') != std::string::npos) {
    flag.kind = ValueKind::kWords;
    flag.words = type;
    std::replace(flag.words.begin(), flag.words.end(), '|', ' ');
  } else {
    flag.kind = ValueKind::kOther;
  }
  return flag;
}

std::vector<Flag> FlagsOf(const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options())
    if (option->nonpositional()) flags.push_back(FlagOf(*option));
  return flags;
}

std::vector<Verb> VerbsOf(const CLI::App& root) {
  std::vector<Verb> verbs;
  for (const CLI::App* app : root.get_subcommands(std::function<bool(const CLI::App*)>()))
    verbs.push_back({app->get_name(), app->get_description(), FlagsOf(*app)});
  return verbs;
}

// "-m" and "--model": every spelling of a flag.
std::vector<std::string> Spellings(const Flag& flag) {
  std::vector<std::string> spellings;
  for (const std::string& name : flag.shorts) spellings.push_back("-" + name);
  for (const std::string& name : flag.longs) spellings.push_back("--" + name);
  return spellings;
}

std::vector<std::string> AllSpellings(const std::vector<Flag>& flags) {
  std::vector<std::string> all;
  for (const Flag& flag : flags)
    for (std::string& spelling : Spellings(flag)) all.push_back(std::move(spelling));
  return all;
}

// `text` inside single quotes of a POSIX shell or of zsh.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string BashValues(const Verb& verb) {
  std::string cases;
  for (const Flag& flag : verb.flags) {
    if (flag.kind == ValueKind::kNoValue) continue;
    std::vector<std::string> patterns;
    for (const std::string& spelling : Spellings(flag))
      patterns.push_back(fmt::format("'{} {}'", verb.name, spelling));
    // An empty answer falls back to file names (complete -o default).
    const std::string reply =
        flag.kind == ValueKind::kWords
            ? fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\"); ",
                          Quoted(flag.words))
            : std::string();
    cases += fmt::format("    {}) {}return ;;\n", fmt::join(patterns, "|"), reply);
  }
  return cases;
}

std::string BashScript(const CLI::App& root) {
  const std::vector<Verb> verbs = VerbsOf(root);
  std::vector<std::string> names;
  std::string values;
  std::string flags;
  for (const Verb& verb : verbs) {
    names.push_back(verb.name);
    values += BashValues(verb);
    flags += fmt::format("    {}) words={} ;;\n", verb.name,
                         Quoted(fmt::format("{}", fmt::join(AllSpellings(verb.flags), " "))));
  }
  return fmt::format(R"(# bash completion for skald; made by: skald completion bash
_skald() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb='' word words
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
    {0}) verb=$word; break ;;
    esac
  done
  case "$verb $prev" in
{1}  esac
  case $verb in
    '') words='{2} {3}' ;;
{4}  esac
  if [[ -z $verb || $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}}
complete -o bashdefault -o default -F _skald skald
)",
                     fmt::join(names, "|"), values, fmt::join(names, " "),
                     fmt::join(AllSpellings(FlagsOf(root)), " "), flags);
}

// Inside [...] of an _arguments specification, brackets, colons and backslashes are escaped.
std::string ZshHelp(std::string_view help) {
  std::string escaped;
  for (const char c : help) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string ZshFlag(const Flag& flag) {
  std::string value;
  if (flag.kind == ValueKind::kFile) value = ":file:_files";
  if (flag.kind == ValueKind::kWords) value = fmt::format(":value:({})", flag.words);
  if (flag.kind == ValueKind::kOther) value = ":value: ";
  std::string lines;
  for (const std::string& spelling : Spellings(flag))
    lines += fmt::format("      {} \\\n",
                         Quoted(fmt::format("*{}[{}]{}", spelling, ZshHelp(flag.help), value)));
  return lines;
}

std::string ZshScript(const CLI::App& root) {
  std::string verbs;
  std::string cases;
  for (const Verb& verb : VerbsOf(root)) {
    verbs += fmt::format("    {}\n", Quoted(verb.name + ":" + verb.help));
    cases += fmt::format("    {}) _arguments -S \\\n", verb.name);
    for (const Flag& flag : verb.flags) cases += ZshFlag(flag);
    cases += "      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef skald
# zsh completion for skald; made by: skald completion zsh
_skald() {{
  local -a verbs=(
{0}  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{1}  esac
}}
_skald "$@"
)",
                     verbs, cases);
}

// fish knows two escapes inside single quotes: \' and \\.
std::string FishQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string FishFlag(const std::string& condition, const Flag& flag) {
  std::string line = fmt::format("complete -c skald -n {}", FishQuoted(condition));
  for (const std::string& name : flag.shorts) line += " -s " + name;
  for (const std::string& name : flag.longs) line += " -l " + name;
  if (flag.kind == ValueKind::kFile) line += " -r -F";
  if (flag.kind == ValueKind::kWords) line += " -x -a " + FishQuoted(flag.words);
  if (flag.kind == ValueKind::kOther) line += " -x";
  return line + " -d " + FishQuoted(flag.help) + '\n';
}

std::string FishScript(const CLI::App& root) {
  std::string script = "# fish completion for skald; made by: skald completion fish\n";
  for (const Flag& flag : FlagsOf(root)) script += FishFlag("__fish_use_subcommand", flag);
  for (const Verb& verb : VerbsOf(root)) {
    script += fmt::format("complete -c skald -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                          FishQuoted(verb.help));
    for (const Flag& flag : verb.flags)
      script += FishFlag("__fish_seen_subcommand_from " + verb.name, flag);
  }
  return script;
}

constexpr std::array<Choice<Shell>, 4> kShells = {{
    {"bash", Shell::kBash},
    {"zsh", Shell::kZsh},
    {"fish", Shell::kFish},
    {"man", Shell::kManual},
}};

constexpr const char* kExamples = R"(Examples:
  source <(skald completion bash)
  skald completion zsh > ~/.zfunc/_skald
  skald completion fish > ~/.config/fish/completions/skald.fish
  skald completion man > skald.1            the manual page, from the same table
)";

}  // namespace

std::string CompletionScript(const CLI::App& root, Shell shell) {
  switch (shell) {
    case Shell::kBash: return BashScript(root);
    case Shell::kZsh: return ZshScript(root);
    case Shell::kFish: return FishScript(root);
    case Shell::kManual: return ManPage(root);
  }
  return {};
}

void AddCompletionCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"completion", "Print a completion script for a shell", kExamples});
  const auto shell = std::make_shared<Shell>(Shell::kBash);
  AddChoice(verb, {"shell", "the shell; man is the manual page"}, *shell, kShells).Require();
  OnParsed(verb, [&root, shell, &chosen] {
    chosen = [&root, shell = *shell](const Environment&, Console& console) {
      return console.Write(CompletionScript(root, shell));
    };
  });
}

}  // namespace skald::cli
