#include "cli/completion.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "cli/app.h"
#include "cli/flags.h"

namespace skald::cli {
namespace {

std::string Committed(const char* name) {
  std::ifstream file(std::string(SKALD_SOURCE_DIR "/completions/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Current(Shell shell) {
  Action chosen;
  return CompletionScript(*MakeApp(chosen), shell);
}

TEST(CompletionScript, IsTheCommittedOne) {
  // If this fails: build/release/skald completion SHELL > completions/...
  EXPECT_EQ(Current(Shell::kBash), Committed("skald.bash"));
  EXPECT_EQ(Current(Shell::kZsh), Committed("_skald"));
  EXPECT_EQ(Current(Shell::kFish), Committed("skald.fish"));
}

TEST(CompletionScript, KnowsVerbsFlagsAndValues) {
  CLI::App app("", "skald");
  CLI::App* verb = app.add_subcommand("bake", "It's done: now");
  std::optional<std::string> file;
  int color = 0;
  const std::array<Choice<int>, 2> colors = {{{"red", 1}, {"blue", 2}}};
  AddText(*verb, {"-f,--file", "a [file]"}, kFileType, file);
  AddChoice(*verb, {"--color", "which"}, color, colors);

  const std::string bash = CompletionScript(app, Shell::kBash);
  EXPECT_NE(bash.find("'bake -f'|'bake --file') return ;;"), std::string::npos) << bash;
  EXPECT_NE(bash.find("compgen -W 'red blue'"), std::string::npos) << bash;
  const std::string zsh = CompletionScript(app, Shell::kZsh);
  EXPECT_NE(zsh.find("'bake:It'\\''s done: now'"), std::string::npos) << zsh;
  EXPECT_NE(zsh.find("'*--file[a \\[file\\]]:file:_files'"), std::string::npos) << zsh;
  EXPECT_NE(zsh.find("'*--color[which]:value:(red blue)'"), std::string::npos) << zsh;
  const std::string fish = CompletionScript(app, Shell::kFish);
  EXPECT_NE(fish.find("-s f -l file -r -F -d 'a [file]'"), std::string::npos) << fish;
  EXPECT_NE(fish.find("-l color -x -a 'red blue'"), std::string::npos) << fish;
}

}  // namespace
}  // namespace skald::cli
