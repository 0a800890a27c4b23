#include "cli/loading.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::cli {
namespace {

std::string Line(int64_t done, int64_t total, int columns) {
  return ProgressLine({"loading", done, total, "512 B of 1.0 KiB"}, columns);
}

TEST(ProgressLine, FillsTheBarWithTheShare) {
  EXPECT_EQ(Line(512, 1024, 45), "loading [#####.....]   50%  512 B of 1.0 KiB");
  EXPECT_EQ(Line(0, 1024, 46), "loading [...........]    0%  512 B of 1.0 KiB");
  EXPECT_EQ(Line(1024, 1024, 45), "loading [##########]  100%  512 B of 1.0 KiB");
}

TEST(ProgressLine, LeavesOutOfANarrowTerminalWhatDoesNotFit) {
  EXPECT_EQ(Line(512, 1024, 44), "loading  50%  512 B of 1.0 KiB");
  EXPECT_EQ(Line(512, 1024, 20), "loading  50%");
  EXPECT_EQ(Line(512, 1024, 12), " 50%");
  EXPECT_EQ(Line(512, 1024, 4), "");
}

TEST(ProgressLine, NeverReachesTheLastColumn) {
  for (int columns = 0; columns < 300; ++columns) {
    const std::string line = Line(1, 2, columns);
    EXPECT_TRUE(line.empty() || line.size() < static_cast<size_t>(columns)) << columns;
    EXPECT_LT(line.size(), 80u);
  }
}

TEST(ProgressLine, SurvivesATotalOfNothing) {
  EXPECT_EQ(Line(0, 0, 20), "loading   0%");
  EXPECT_EQ(Line(5, 2, 20), "loading 100%");
}

}  // namespace
}  // namespace skald::cli
