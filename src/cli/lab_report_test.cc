#include "cli/lab_report.h"

#include <gtest/gtest.h>

namespace skald::cli {
namespace {

constexpr LabExperiment kExperiment = {
    .name = "key", .title = "one key is random", .see = "It drifts.", .bug = "A page freed early."};

LabResult Small() {
  return {.experiment = "key",
          .model = "tales",
          .changed = "The key of position 1 is random",
          .finding = "The answers part behind 1 token",
          .clean = "Without it nothing differs",
          .is_clean = true,
          .prompt_tokens = 2,
          .position = 2,
          .text = {{1, "Once"}, {2, " upon"}, {3, " a"}, {4, " time"}},
          .broken_text = {{1, "Once"}, {2, " upon"}, {3, " a"}, {5, "\x1b[2J\n"}},
          .parts_at = 3,
          .panels = {{.title = "KL", .series = {{.name = "a", .points = {{0, 0}, {1, 1}}}}}}};
}

TEST(LabReport, SaysWhatWasChangedAndWhereTheTextsPart) {
  const std::string text = LabText(kExperiment, Small(), Painting::kPlain);
  for (const char* line :
       {"key: one key is random, on tales\n", "changed          The key of position 1 is random\n",
        "in real life     A page freed early.\n", "prompt           |Once| upon|\n",
        "as it should be  | a|>> time|\n", "with the fault   | a|>>\\x1B[2J\\n|\n", "KL\n",
        "The answers part behind 1 token.\nWithout it nothing differs.\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(LabReport, ColoursSayNothingThatWordsDoNot) {
  const std::string text = LabText(kExperiment, Small(), Painting::kColored);
  EXPECT_NE(text.find("|>>\x1b[31m\\x1B[2J\\n\x1b[0m|"), std::string::npos) << text;
  EXPECT_NE(text.find("|\x1b[34mOnce\x1b[0m|"), std::string::npos) << text;
}

TEST(LabReport, LongTextsAreWrapped) {
  LabResult result = Small();
  result.text.insert(result.text.end(), 60, {7, " word"});
  result.finding = std::string(30, 'a') + " " + std::string(90, 'b');
  const std::string text = LabText(kExperiment, result, Painting::kPlain);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 101u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(LabReport, ListsEveryExperimentWithItsTwoSentences) {
  const std::string text = LabList({&kExperiment, 1});
  EXPECT_EQ(text,
            "key              one key is random\n"
            "  to see         It drifts.\n"
            "  in real life   A page freed early.\n");
  EXPECT_EQ(LabListJson({&kExperiment, 1}),
            R"({"experiments":[{"name":"key","title":"one key is random","see":"It drifts.",)"
            R"("bug":"A page freed early."}]})");
}

}  // namespace
}  // namespace skald::cli
