#include "cli/loading.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::cli {
namespace {

TEST(ProgressLine, FillsTheBarWithTheShare) {
  EXPECT_EQ(ProgressLine(512, 1024, 45), "loading [#####.....]   50%  512 B of 1.0 KiB");
  EXPECT_EQ(ProgressLine(0, 1000, 43), "loading [...........]    0%  0 B of 1000 B");
  EXPECT_EQ(ProgressLine(1000, 1000, 45), "loading [##########]  100%  1000 B of 1000 B");
}

TEST(ProgressLine, LeavesTheBarOutOfANarrowTerminal) {
  EXPECT_EQ(ProgressLine(512, 1024, 20), "loading  50%  512 B of 1.0 KiB");
}

TEST(ProgressLine, NeverFillsAWideTerminalOrItsLastColumn) {
  for (int columns = 1; columns < 300; ++columns) {
    const std::string line = ProgressLine(1, 2, columns);
    const bool has_bar = line.find('[') != std::string::npos;
    if (has_bar) {
      EXPECT_LT(line.size(), static_cast<size_t>(columns));
    }
    EXPECT_LT(line.size(), 80u);
  }
}

TEST(ProgressLine, SurvivesATotalOfNothing) {
  EXPECT_EQ(ProgressLine(0, 0, 20), "loading   0%  0 B of 0 B");
  EXPECT_EQ(ProgressLine(5, 2, 20), "loading 100%  5 B of 2 B");
}

}  // namespace
}  // namespace skald::cli
