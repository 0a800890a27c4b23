#include "cli/character_plot.h"

#include <gtest/gtest.h>

#include <cmath>

namespace skald::cli {
namespace {

FigurePanel Small() {
  return {
      .title = "Loss",
      .x = {.label = "position"},
      .y = {.label = "nats"},
      .series = {{.name = "broken", .mark = FigureMark::kFault, .points = {{0, 0}, {4, 2}, {9, 2}}},
                 {.name = "clean", .points = {{0, 0}, {9, 0}}}},
      .place = FigurePlace{.x = 4, .label = "here"}};
}

TEST(CharacterPlot, DrawsLinesWithTheirEndsAndTheirPlace) {
  EXPECT_EQ(CharacterPlot(Small(), {.columns = 20, .rows = 3}, Painting::kPlain),
            "Loss\n"
            "nats:  # broken  . clean\n"
            "        2 |      ##############\n"
            "          |  ####\n"
            "        0 |##..................\n"
            "          +--------------------\n"
            "           0     position     9\n"
            "                   ^ here\n");
}

TEST(CharacterPlot, LogarithmsLeaveOutWhatTheyCannotShow) {
  FigurePanel panel = {.title = "t",
                       .y = {.label = "rows", .scale = FigureScale::kLog},
                       .series = {{.name = "a", .points = {{0, 0}, {1, 1}, {2, 10}, {3, 100}}}}};
  EXPECT_EQ(CharacterPlot(panel, {.columns = 4, .rows = 3}, Painting::kPlain),
            "t\nrows:  # a\n"
            "      100 |   #\n"
            "          |  #\n"
            "        1 | #\n"
            "          +----\n"
            "           0  3\n");
}

// Figures of nothing, and of what is no number.
TEST(CharacterPlot, AnEmptyPanelIsAFrame) {
  FigurePanel panel = {.title = "t", .series = {{.name = "a", .points = {{0, std::nan("")}}}}};
  const std::string text = CharacterPlot(panel, {.columns = 4, .rows = 2}, Painting::kPlain);
  EXPECT_EQ(text, "t\n:  # a\n        0 |\n        0 |\n          +----\n           0  0\n");
}

TEST(CharacterPlot, NamesCannotSteerATerminal) {
  FigurePanel panel = Small();
  panel.title = "\x1b[2J";
  panel.series.front().name = "\x1b[31m";
  const std::string text = CharacterPlot(panel, {}, Painting::kPlain);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(CharacterPlot(panel, {}, Painting::kColored).find("\x1b[31m#\x1b[0m"),
            std::string::npos);
}

}  // namespace
}  // namespace skald::cli
