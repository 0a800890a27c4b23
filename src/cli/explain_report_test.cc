#include "cli/explain_report.h"

#include <gtest/gtest.h>

namespace skald::cli {
namespace {

Explanation Small() {
  const Call matrix = {.kind = CallKind::kMatrix,
                       .name = "blk.0.x.weight",
                       .layer = 0,
                       .input = {2, 4},
                       .operand = {8, 4},
                       .output = {2, 8},
                       .work = {.float_macs = 64, .bytes = 128}};
  Call operation = {.kind = CallKind::kOperation,
                    .name = "matmul qkv",
                    .layer = 0,
                    .work = matrix.work,
                    .seconds = 0.003,
                    .bound = Bound{.seconds = 0.0015, .resource = Resource::kMemory},
                    .calls = {matrix}};
  Call layer = {.kind = CallKind::kLayer,
                .name = "layer 0",
                .layer = 0,
                .work = matrix.work,
                .seconds = 0.003,
                .calls = {operation}};
  Call other = layer;
  other.layer = 1;
  other.name = "layer 1";
  other.calls[0].layer = other.calls[0].calls[0].layer = 1;
  const Call step = {.name = "step",
                     .input = {2},
                     .output = {1, 9},
                     .work = {.float_macs = 128, .bytes = 256},
                     .seconds = 0.006,
                     .calls = {layer, other}};
  Explanation small = {.isa = "avx2", .threads = 1, .prompt_tokens = 2, .cached_tokens = 1};
  small.model.name = "evil\x1b[2J";
  small.model.layer_count = 2;
  small.tokens = {{.id = 1, .text = "a", .origin = TokenOrigin::kCached},
                  {.id = 2, .text = "\n", .origin = TokenOrigin::kComputed},
                  {.id = 3, .text = "\x1b]0;x", .origin = TokenOrigin::kDrawn}};
  small.steps = {{.rows = 2, .logit_rows = 1, .is_prefill = true, .drawn = 3, .tree = step}};
  return small;
}

TEST(ExplainReport, HasTokensStepsAndTrees) {
  const std::string text = *ExplainText(Small(), {.depth = 3});
  EXPECT_NE(text.find("cached: |a\ncomputed: |\\n\ndrawn: |\\x1B]0;x|\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  layer 0                          3 ms     50 %  128 B         128\n"
                      "    matmul qkv                     3 ms     50 %  128 B         128"
                      "   50 % read\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("blk.0"), std::string::npos) << "below the depth";
}

TEST(ExplainReport, GoesAsDeepAsItIsAskedTo) {
  EXPECT_EQ(ExplainText(Small(), {.depth = 0})->find("layer 0"), std::string::npos);
  const std::string deep = *ExplainText(Small(), {.depth = 4, .layer = 1});
  EXPECT_EQ(deep.find("layer 0"), std::string::npos);
  EXPECT_NE(deep.find("\n      blk.0.x.weight  [2, 4]  [8, 4]  [2, 8]"), std::string::npos) << deep;
}

TEST(ExplainReport, SaysWhatOfThePromptSurprises) {
  EXPECT_EQ(ExplainText(Small(), {})->find("perplexity"), std::string::npos);
  Explanation explanation = Small();
  explanation.prompt_tokens = 3;
  explanation.tokens[1].probability = 0.5;
  explanation.tokens[2].probability = 0.125;
  const std::string text = *ExplainText(explanation, {});
  EXPECT_NE(text.find("\nprompt: perplexity 4,"), std::string::npos) << text;  // 16^(1/2)
  EXPECT_LT(text.find("0.125\n"), text.find("0.5\n"));
}

// What a model writes cannot steer the terminal, coloured or not.
TEST(ExplainReport, EscapesAreItsOwn) {
  const std::string plain = *ExplainText(Small(), {.depth = 4});
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::string colored = *ExplainText(Small(), {.depth = 4, .has_color = true});
  EXPECT_NE(colored.find("|\x1b[34ma\x1b[0m"), std::string::npos);
  EXPECT_NE(colored.find("\x1b[32m\\x1B]0;x\x1b[0m"), std::string::npos);
  for (const char* code : {"\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m", "\x1b[0m"}) {
    for (size_t at; (at = colored.find(code)) != std::string::npos;)
      colored.erase(at, std::string(code).size());
  }
  EXPECT_EQ(colored, plain);
}

TEST(ExplainReport, NamesWhatIsNotThere) {
  EXPECT_EQ(ExplainText(Small(), {.steps = {1}}).status().message(),
            "--step: there is no step 1, expected 0 to 0");
  EXPECT_EQ(ExplainText(Small(), {.layer = 2}).status().message(),
            "--layer: there is no layer 2, expected 0 to 1");
}

}  // namespace
}  // namespace skald::cli
