#include "cli/foreign_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/app.h"

namespace skald::cli {
namespace {

using Words = std::vector<std::string>;

Result<ResolvedLine> Resolve(const std::string& verb, const Words& arguments) {
  Action chosen;
  const std::unique_ptr<CLI::App> app = MakeApp(chosen);
  return ResolveFlags(*app->get_subcommand(verb), arguments);
}

// The arguments that are left, or the message, in brackets.
std::string Line(const std::string& verb, const Words& arguments) {
  const Result<ResolvedLine> line = Resolve(verb, arguments);
  if (!line.ok()) return "(" + line.status().message() + ")";
  std::string joined;
  for (const std::string& word : line->arguments) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::string Note(const std::string& verb, const Words& arguments) {
  const Result<ResolvedLine> line = Resolve(verb, arguments);
  return line.ok() && line->notes.size() == 1 ? line->notes.front() : "no note";
}

std::string Problem(const Words& arguments) {
  Action chosen;
  const std::unique_ptr<CLI::App> app = MakeApp(chosen);
  return ParseCommandLine(*app, chosen, arguments).status().message();
}

Words NamesOf(const ForeignFlag& flag) {
  std::istringstream stream{std::string(flag.names)};
  Words names;
  for (std::string name; stream >> name;) names.push_back(name);
  return names;
}

TEST(ForeignFlags, EveryRowIsAnswered) {
  for (const ForeignFlag& flag : ForeignFlags()) {
    for (const std::string& name : NamesOf(flag)) {
      bool reached = false;
      for (const char* verb : {"run", "chat", "serve"}) {
        if (!flag.verb.empty() && flag.verb != verb) continue;
        // A value that no flag of ours and no neutral value is.
        const Words words = flag.value == ForeignValue::kOne ? Words{name, "77"} : Words{name};
        const Result<ResolvedLine> line = Resolve(verb, words);
        const std::string message = line.status().message();
        const std::string where = std::string(verb) + " " + name + ": " + message;
        switch (flag.answer) {
          case ForeignAnswer::kOurs:
            if (line.ok()) {
              EXPECT_EQ(line->arguments.front(), flag.ours) << where;
              EXPECT_EQ(line->arguments.size(), words.size()) << where;
              EXPECT_TRUE(line->notes.empty()) << where;
              reached = true;
            } else {
              EXPECT_NE(message.find(std::string(flag.ours) + " in skald"), std::string::npos)
                  << where;
            }
            break;
          case ForeignAnswer::kIgnored:
            if (flag.verb.empty() && !line.ok()) continue;  // another row is this verb's
            ASSERT_TRUE(line.ok()) << where;
            if (line->notes.empty()) continue;
            EXPECT_TRUE(line->arguments.empty()) << where;
            EXPECT_TRUE(line->notes.front().starts_with(name + " of ")) << line->notes.front();
            EXPECT_TRUE(line->notes.front().ends_with(flag.here)) << line->notes.front();
            reached = true;
            break;
          case ForeignAnswer::kRefused:
            if (flag.verb.empty() && line.ok()) continue;
            ASSERT_FALSE(line.ok()) << where;
            EXPECT_EQ(line.status().code(), ErrorCode::kInvalidArgument);
            EXPECT_TRUE(message.starts_with(name + " of ")) << where;
            EXPECT_NE(message.find(flag.here), std::string::npos) << where;
            reached = true;
            break;
        }
        EXPECT_EQ(message.find('\n'), std::string::npos) << where;
      }
      EXPECT_TRUE(reached) << name << " is answered nowhere as its row says";
    }
  }
}

TEST(ForeignFlags, AreManyAndEachOnlyOnce) {
  std::set<std::string> seen;
  size_t names = 0;
  for (const ForeignFlag& flag : ForeignFlags()) {
    EXPECT_FALSE(flag.there.empty()) << flag.names;
    EXPECT_EQ(flag.here.empty(), flag.answer == ForeignAnswer::kOurs) << flag.names;
    for (const std::string& name : NamesOf(flag)) {
      ++names;
      EXPECT_TRUE(name.starts_with('-')) << name;
      EXPECT_TRUE(seen.insert(name + " " + std::string(flag.verb)).second) << name << " twice";
    }
  }
  EXPECT_GE(ForeignFlags().size(), 60u);
  EXPECT_GE(names, 180u);
}

TEST(ForeignFlags, AValueThatAsksForNothingPassesInSilence) {
  for (const ForeignFlag& flag : ForeignFlags()) {
    if (flag.answer == ForeignAnswer::kOurs || flag.ours.empty()) continue;
    const std::string name = NamesOf(flag).front();
    const Result<ResolvedLine> line = Resolve("run", {name, std::string(flag.ours)});
    ASSERT_TRUE(line.ok()) << line.status().message();
    EXPECT_TRUE(line->arguments.empty() && line->notes.empty()) << name;
  }
}

TEST(ResolveFlags, PutsOursInThePlaceOfOthers) {
  EXPECT_EQ(Line("run", {"-ctk", "f32", "-ctv", "f32", "a"}), "--kv-type f32,f16 --kv-type f32 a");
  EXPECT_EQ(Line("run", {"--cache-type-k", "q8_0", "--cache-type-v=q4_0"}),
            "--kv-type q8,f16 --kv-type q8,q4");
  EXPECT_EQ(Line("run", {"-ctv", "q8_0"}), "--kv-type f16,q8");
  EXPECT_EQ(Line("serve", {"--kv-cache-dtype=bfloat16"}), "--kv-type bf16");
  EXPECT_EQ(Line("run", {"--kv-cache-dtype", "auto"}), "");
  EXPECT_EQ(Line("run", {"-md", "small.gguf"}), "--draft small.gguf");
  EXPECT_EQ(Line("run", {"--max-tokens=7", "-s", "-1"}), "--n-predict 7 --seed -1");
  EXPECT_EQ(Line("chat", {"-sys", "Be brief."}), "--system Be brief.");
  EXPECT_EQ(Line("run", {"-sys", "Be brief."}),
            "(-sys of llama.cpp (the system text) is --system in skald, which this verb does not "
            "take (see skald run --help))");
}

TEST(ResolveFlags, NeverCutsALongNameIntoLetters) {
  EXPECT_EQ(Line("run", {"-ngl", "99", "a"}), "a");
  EXPECT_EQ(Note("run", {"-ngl", "99", "a"}),
            "-ngl of llama.cpp (the number of layers on a GPU): skald computes on the CPU");
  EXPECT_EQ(Line("run", {"-fa", "on", "a"}), "a");
  EXPECT_EQ(Line("run", {"-fa", "once upon"}), "once upon");
  EXPECT_EQ(Line("chat", {"-cnv"}), "");
  EXPECT_EQ(Line("run", {"-cnv"}),
            "(-cnv of llama.cpp (a conversation): type: skald chat -m MODEL (see skald run "
            "--help))");
  EXPECT_EQ(Line("run", {"-hf", "owner/name:Q8_0"}), "--model owner/name:Q8_0");
  EXPECT_TRUE(Line("run", {"-hft", "secret"}).starts_with("(-hft of llama.cpp"));
  EXPECT_EQ(Line("run", {"-temp", "1"}),
            "(unknown flag '-temp'; did you mean --temp? (see skald run --help))");
  EXPECT_EQ(Line("run", {"-nope"}), "(unknown flag '-nope' (see skald run --help))");
  EXPECT_EQ(Line("run", {"-hx"}), "(unknown flag '-hx'; did you mean -h? (see skald run --help))");
}

TEST(ResolveFlags, LeavesOursAlone) {
  const Words ours = {"-n5", "-t2", "-qh", "-p", "-ngl", "--stop", "--mirostat", "-m/x.gguf"};
  EXPECT_EQ(Resolve("run", ours)->arguments, ours);
  EXPECT_EQ(Line("run", {"a", "--", "-ngl", "-hf"}), "a -- -ngl -hf");
  EXPECT_EQ(Line("run", {"--prompt=", "-"}), "--prompt= -");
  EXPECT_EQ(Line("run", {"--ctx_size", "64", "--top_k=4"}), "--ctx-size 64 --top-k=4");
  EXPECT_EQ(Line("bench", {"-r", "3", "-b", "1,2"}), "-r 3 -b 1,2");
}

TEST(ResolveFlags, RefusesAValueTooFewOrTooMany) {
  EXPECT_EQ(Line("run", {"-ngl"}), "(-ngl needs a value (see skald run --help))");
  EXPECT_EQ(Line("run", {"--mlock=1"}), "(--mlock takes no value (see skald run --help))");
}

TEST(ForeignVerbs, AreAnsweredWithWhatToType) {
  for (const ForeignVerb& verb : ForeignVerbs()) {
    const std::string problem = Problem({std::string(verb.name), "x"});
    EXPECT_NE(problem.find(verb.here), std::string::npos) << problem;
  }
  EXPECT_EQ(Problem({"-m", "model.gguf"}),
            "no verb before '-m'; type skald run -m ..., skald chat -m ... or skald serve -m ... "
            "(see skald --help)");
  EXPECT_EQ(Problem({"model.gguf", "Hi"}),
            "no verb before 'model.gguf'; type skald run model.gguf PROMPT, skald chat model.gguf "
            "or skald serve model.gguf (see skald --help)");
}

}  // namespace
}  // namespace skald::cli
