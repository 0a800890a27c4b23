#include "skald/figure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "figure/svg.h"

namespace skald {
namespace {

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Axis, EndsAtWholeTicks) {
  const figure::Axis axis = figure::AxisAround({0, 37}, FigureScale::kLinear, 100, 200);
  EXPECT_EQ(axis.Ticks(), (std::vector<double>{0, 10, 20, 30, 40}));
  EXPECT_EQ(axis.At(0), 100);
  EXPECT_EQ(axis.At(40), 200);
  EXPECT_EQ(axis.At(10), 125);
}

TEST(Axis, ALogarithmicOneEndsAtPowersOfTen) {
  const figure::Axis axis = figure::AxisAround({0.02, 0, -1, 300}, FigureScale::kLog, 0, 5);
  EXPECT_DOUBLE_EQ(axis.least, 0.01);
  EXPECT_DOUBLE_EQ(axis.most, 1000);
  EXPECT_DOUBLE_EQ(axis.At(10), 3);
  EXPECT_EQ(axis.Ticks().size(), 6u);
}

// Of nothing, of one value and of what is no number there is still an axis.
TEST(Axis, IsThereForFewValues) {
  for (const FigureScale scale : {FigureScale::kLinear, FigureScale::kLog}) {
    for (const std::vector<double>& values :
         {std::vector<double>{}, std::vector<double>{0}, std::vector<double>{5},
          std::vector<double>{std::nan(""), INFINITY}}) {
      const figure::Axis axis = figure::AxisAround(values, scale, 0, 1);
      EXPECT_LT(axis.least, axis.most);
      EXPECT_GE(axis.Ticks().size(), 2u);
    }
  }
}

TEST(Lines, AreCutAtSpaces) {
  EXPECT_EQ(figure::Lines("a bc def", 4), (std::vector<std::string>{"a bc", "def"}));
  EXPECT_EQ(figure::Lines("abcdef gh", 4), (std::vector<std::string>{"abcdef", "gh"}));
  EXPECT_EQ(figure::Lines("abcdef", 4), (std::vector<std::string>{"abcdef"}));
  EXPECT_TRUE(figure::Lines("", 4).empty());
}

Figure Small() {
  return {.title = "A finding",
          .note = "What was changed",
          .strips = {{.name = "text",
                      .cells = {{" a", FigureMark::kInput}, {"<b>\xff", FigureMark::kFault}}}},
          .panels = {{.title = "Loss",
                      .x = {.label = "position"},
                      .y = {.label = "nats"},
                      .series = {{.name = "broken",
                                  .mark = FigureMark::kFault,
                                  .points = {{0, 1}, {1, 2}, {2, std::nan("")}, {3, 1}, {4, 1}}},
                                 {.name = "clean", .points = {{2, 1}}}},
                      .place = FigurePlace{.x = 1, .label = "here"}}},
          .data = R"({"a":1})",
          .command = "skald lab"};
}

TEST(FigureSvg, HasEverythingOnce) {
  const std::string svg = FigureSvg(Small());
  EXPECT_EQ(Count(svg, "<title id=\"title\">A finding</title>"), 1u);
  EXPECT_EQ(Count(svg, "<metadata>{&quot;a&quot;:1}</metadata>"), 1u);
  EXPECT_EQ(Count(svg, "<rect class=\"blue\""), 1u);
  EXPECT_EQ(Count(svg, "<rect class=\"red\""), 1u);
  EXPECT_EQ(Count(svg,
                  "\xE2\x90\xA3"
                  "a</text>"),
            1u)
      << "a space is seen";
  EXPECT_EQ(Count(svg, "&lt;b&gt;\\xFF</text>"), 1u) << "text is no markup";
  EXPECT_EQ(Count(svg, "<polyline class=\"red\""), 3u) << "its name, and two parts around a gap";
  EXPECT_EQ(Count(svg, "<circle class=\"blue\""), 1u) << "a line of one point";
  EXPECT_EQ(Count(svg, "<line class=\"place\""), 1u);
  EXPECT_EQ(Count(svg, ">skald lab</text>"), 1u);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

// What is drawn later stands lower: nothing covers what came before.
TEST(FigureSvg, GrowsWithWhatIsInIt) {
  const auto height = [](const Figure& figure) {
    const std::string svg = FigureSvg(figure);
    const size_t at = svg.find("0 0 960 ") + 8;
    return std::stod(svg.substr(at, svg.find('"', at) - at));
  };
  Figure figure = Small();
  const double one = height(figure);
  figure.panels.push_back(figure.panels.front());
  const double two = height(figure);
  EXPECT_GT(two, one + 300);
  figure.strips.front().cells.assign(200, {.text = " word", .mark = FigureMark::kInput});
  EXPECT_GT(height(figure), two + 200);
}

}  // namespace
}  // namespace skald
