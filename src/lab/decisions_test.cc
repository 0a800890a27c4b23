// What an engine decides: what each choice costs is seen in its figure, and the answer is the same.

#include <gtest/gtest.h>

#include <string>

#include "skald/lab.h"

namespace skald {
namespace {

class Decision : public testing::Test {
 protected:
  Decision()
      : model_(*LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"})),
        question_{.prompt = *model_.tokenizer().Encode("Once upon a time there was a small fox"),
                  .max_tokens = 16,
                  .threads = 1} {}

  LabResult Run(std::string_view name) const {
    Result<LabResult> result = RunLab(model_, name, question_, [] { return true; });
    EXPECT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->is_clean) << result->clean;
    EXPECT_FALSE(result->changed.empty());
    return *std::move(result);
  }

  Model model_;
  LabQuestion question_;
};

TEST_F(Decision, WithoutACacheWorkGrowsWithTheSquare) {
  const LabResult result = Run("cache");
  const std::vector<FigureSeries>& work = result.panels[0].series;
  const auto prompt = static_cast<double>(question_.prompt.size());
  ASSERT_EQ(work[0].points.size(), 16u);
  for (size_t i = 0; i < 16; ++i) {
    const auto n = static_cast<double>(i + 1);
    EXPECT_EQ(work[0].points[i].y, n * prompt + n * (n - 1) / 2);
    EXPECT_EQ(work[1].points[i].y, prompt + n - 1);
  }
  EXPECT_EQ(result.clean.find("All 16 tokens come from the same bits either way"), 0u);
}

TEST_F(Decision, FewerBitsOfKAndVCostMore) {
  const LabResult result = Run("kv-precision");
  const std::vector<FigureSeries>& types = result.panels[0].series;
  ASSERT_EQ(types.size(), 4u);
  EXPECT_EQ(types[0].name, "q4");
  EXPECT_EQ(types[3].name, "f16");
  const std::vector<FigurePoint>& means = result.panels[1].series[0].points;
  // q4, q8, bf16, f16.
  EXPECT_GT(means[0].y, 2 * means[1].y);
  // What is left of f16 is not its own: weights are multiplied by integers, and which of two an
  // activation is rounded to hangs on the last bit.
  EXPECT_GT(means[1].y, means[3].y);
  EXPECT_GT(means[3].y, 0);
  EXPECT_LT(means[0].x, means[1].x);
  EXPECT_LT(means[1].x, means[2].x);
  EXPECT_EQ(means[2].x, means[3].x);
  EXPECT_NE(result.clean.find("the KL is 0 in all"), std::string::npos) << result.clean;
}

TEST_F(Decision, PagesWasteHalfAPage) {
  const LabResult result = Run("page-size");
  const std::vector<FigurePoint>& waste = result.panels[0].series[0].points;
  const std::vector<FigurePoint>& entries = result.panels[1].series[0].points;
  EXPECT_EQ(waste[0].y, 0) << "pages of one position";
  // Lengths 1 to 512 in pages of 32: 15.5 positions of 272 on average.
  EXPECT_EQ(waste[5].x, 32);
  EXPECT_NEAR(waste[5].y, 100 * 15.5 / (15.5 + 256.5), 1e-9);
  EXPECT_EQ(entries[5].y, 16);
  EXPECT_NEAR(waste.back().y, result.panels[0].series[1].points.back().y, 1e-9);
  for (size_t i = 1; i < waste.size(); ++i) EXPECT_GT(waste[i].y, waste[i - 1].y);
}

TEST_F(Decision, ShortTextsInPagesLeaveRoomForOthers) {
  question_.max_tokens = 40;
  const LabResult result = Run("contiguous");
  ASSERT_EQ(result.panels.size(), 3u);
  const std::vector<FigureSeries>& fit = result.panels[2].series;
  EXPECT_EQ(fit[0].points.front().y, 16 * 16) << "a page each";
  EXPECT_EQ(fit[0].points.back().y, 16) << "a whole context each";
  for (const FigurePoint& point : fit[1].points) EXPECT_EQ(point.y, 16);
}

TEST_F(Decision, TextsWithinAPageHaveNoOrderOfPages) {
  const Result<LabResult> result = RunLab(model_, "contiguous", question_, [] { return true; });
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("expected 35 at least: they must reach over a page"),
            std::string::npos)
      << result.status().message();
}

// Trained at 512: behind that a token costs more, and stretched rotations help.
TEST_F(Decision, BehindTheTrainedLengthTheLossClimbs) {
  const LabResult result = Run("context");
  const std::vector<FigureSeries>& ways = result.panels[0].series;
  ASSERT_EQ(ways.size(), 4u);
  const auto mean = [](const FigureSeries& series, double from, double to) {
    double sum = 0;
    int64_t count = 0;
    for (const FigurePoint& point : series.points) {
      if (point.x < from || point.x >= to) continue;
      sum += point.y;
      ++count;
    }
    return sum / static_cast<double>(count);
  };
  const double within = mean(ways[0], 0, 512);
  const double behind = mean(ways[0], 1024, 4096);
  EXPECT_GT(behind, 1.5 * within);
  EXPECT_LT(mean(ways[2], 1024, 4096), (within + behind) / 2) << "yarn";
  EXPECT_EQ(mean(ways[3], 0, 512), within) << "endless";
  EXPECT_LT(mean(ways[3], 1024, 4096), 1.25 * within) << "endless";
}

TEST_F(Decision, GuessesSavePassesAndCostRows) {
  const LabResult result = Run("speculation");
  const std::vector<FigureSeries>& passes = result.panels[0].series;
  const std::vector<FigureSeries>& rows = result.panels[1].series;
  for (size_t guesser = 0; guesser < 2; ++guesser) {
    EXPECT_EQ(passes[guesser].points[0].y, 1) << "nothing guessed: a token a pass";
    EXPECT_EQ(rows[guesser].points[0].y, 1);
  }
  // The model guesses itself and is never wrong: 15 tokens behind the first in passes of 5.
  EXPECT_EQ(passes[1].points[3].x, 4);
  EXPECT_EQ(passes[1].points[3].y, 5);
  // N-grams are: what they guess wrongly is a row for nothing.
  EXPECT_LT(passes[0].points.back().y, passes[1].points.back().y);
  EXPECT_GT(rows[0].points.back().y, rows[0].points.front().y);
}

TEST_F(Decision, FiltersKeepOutWhatTheModelDoesNotBelieve) {
  const LabResult result = Run("sampling");
  const std::vector<FigureSeries>& variety = result.panels[0].series;
  const std::vector<FigureSeries>& surprise = result.panels[1].series;
  ASSERT_EQ(surprise.size(), 4u);
  for (size_t filter = 0; filter < 4; ++filter) {
    EXPECT_GT(variety[filter].points.back().y, 2 * variety[filter].points.front().y);
    EXPECT_GT(surprise[filter].points.back().y, surprise[filter].points.front().y);
  }
  for (size_t filter = 1; filter < 4; ++filter) {
    EXPECT_LT(surprise[filter].points.back().y, surprise[0].points.back().y);
  }
}

TEST_F(Decision, RequestsTogetherShareTheWeights) {
  const LabResult result = Run("batch");
  const std::vector<FigurePoint>& intensity = result.panels[1].series[0].points;
  ASSERT_EQ(intensity.size(), 6u);
  for (size_t i = 1; i < intensity.size(); ++i) {
    EXPECT_GT(intensity[i].y, intensity[i - 1].y);
    EXPECT_LT(intensity[i].y, 2 * intensity[i - 1].y) << "K and V are not shared";
  }
  for (const FigureSeries& series : result.panels[0].series) {
    for (const FigurePoint& point : series.points) EXPECT_GT(point.y, 0);
  }
}

TEST(Decisions, SayWhyAModelCannotHaveThem) {
  const Result<Model> model = LoadModel({.path = SKALD_GOLDEN_MODELS "/qwen35.gguf"});
  ASSERT_TRUE(model.ok());
  const LabQuestion question = {.prompt = {3, 10, 20}, .max_tokens = 4, .threads = 1};
  const Result<LabResult> result = RunLab(*model, "speculation", question, [] { return true; });
  EXPECT_EQ(result.status().code(), ErrorCode::kUnsupported);
  EXPECT_NE(result.status().message().find("so nothing is guessed"), std::string::npos);
}

}  // namespace
}  // namespace skald
