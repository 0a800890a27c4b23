#include "cli/app.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace skald::cli {
namespace {

// The message of a refused command line, or "" if it is accepted.
std::string Problem(const std::vector<std::string>& arguments) {
  Action chosen;
  const std::unique_ptr<CLI::App> app = MakeApp(chosen);
  return ParseCommandLine(*app, chosen, arguments).status().message();
}

TEST(ParseCommandLine, TakesEveryVerb) {
  EXPECT_EQ(Problem({"run"}), "");
  EXPECT_EQ(Problem({"run", "Once upon a time", "-n", "3", "-m", "tales"}), "");
  EXPECT_EQ(Problem({"tokenize", "--decode", "1,2"}), "");
  EXPECT_EQ(Problem({"logits", "--tokens", "1,2", "--out", "-", "--chunks", "5,1,7"}), "");
  EXPECT_EQ(Problem({"show", "--tensors"}), "");
  EXPECT_EQ(Problem({"quantize", "a.gguf", "b.gguf", "Q4_0", "--allow-requantize", "-t", "2"}), "");
  EXPECT_EQ(Problem({"grammar", "check", "--gbnf", "a.gbnf", "text"}), "");
  EXPECT_EQ(Problem({"ls", "--json"}), "");
  EXPECT_EQ(Problem({"completion", "zsh"}), "");
  EXPECT_EQ(Problem({"--version"}), "");
  EXPECT_EQ(Problem({"--help"}), "");
  EXPECT_EQ(Problem({"run", "--help"}), "");
}

TEST(ParseCommandLine, TakesPromptsThatLookLikeSomethingElse) {
  EXPECT_EQ(Problem({"run", "show"}), "");
  EXPECT_EQ(Problem({"run", "[a,b]"}), "");
  EXPECT_EQ(Problem({"run", ""}), "");
  EXPECT_EQ(Problem({"run", "-p", "--temp"}), "");
  EXPECT_EQ(Problem({"run", "-p", ""}), "");
  EXPECT_EQ(Problem({"run", "--prompt=", "--json"}), "");
  EXPECT_EQ(Problem({"run", "--", "--dashes"}), "");
}

TEST(ParseCommandLine, SaysWhatIsWrongAndWhereHelpIs) {
  const std::string no_verb = Problem({});
  EXPECT_TRUE(no_verb.starts_with("no verb; there are run, ")) << no_verb;
  EXPECT_TRUE(no_verb.ends_with(" (see skald --help)")) << no_verb;
  EXPECT_EQ(Problem({"rnu"}), "unknown verb 'rnu'; did you mean run? (see skald --help)");
  const std::string unknown = Problem({"frobnicate"});
  EXPECT_TRUE(unknown.starts_with("unknown verb 'frobnicate'; there are run, ")) << unknown;
  EXPECT_EQ(Problem({"run", "--tmp", "1"}),
            "unknown flag '--tmp'; did you mean --temp? (see skald run --help)");
  EXPECT_EQ(Problem({"run", "-n", "5x"}),
            "--n-predict: '5x' is not a whole number (see skald run --help)");
  EXPECT_EQ(Problem({"run", "-n"}), "--n-predict needs a value (see skald run --help)");
  EXPECT_EQ(Problem({"run", "--json=1"}), "--json takes no value (see skald run --help)");
  EXPECT_EQ(Problem({"run", "Once", "upon", "a"}),
            "unexpected argument 'a'; a text with spaces needs quotes (see skald run --help)");
  EXPECT_EQ(Problem({"logits", "--tokens", "1"}), "--out is required (see skald logits --help)");
}

TEST(ExitCodeOf, GivesEachKindOfErrorItsOwn) {
  EXPECT_EQ(ExitCodeOf(ErrorCode::kOk), ExitCode::kOk);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kInvalidArgument)), 2);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kNotFound)), 3);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kIo)), 4);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kBadModel)), 5);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kUnsupported)), 6);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kResourceExhausted)), 7);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kCancelled)), 8);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kNumeric)), 9);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(ErrorCode::kUnavailable)), 10);
}

}  // namespace
}  // namespace skald::cli
