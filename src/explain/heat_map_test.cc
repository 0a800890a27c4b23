#include "explain/heat_map.h"

#include <gtest/gtest.h>

namespace skald::explain {
namespace {

TEST(HeatMap, DrawsNeighboursOfOneLevelAsOneStroke) {
  HeatMap map;
  map.Add(0, 0, 1);
  map.Add(1, 0, 1);
  map.Add(3, 0, 1);
  map.Add(0, 1, 1);
  EXPECT_EQ(map.Svg("a"), "<g id=\"a\"><path class=\"h12\" d=\"M0 0.5h2M3 0.5h1M0 1.5h1\"/></g>\n");
}

TEST(HeatMap, ShadesByTheRootOfAShare) {
  HeatMap map;
  map.Add(0, 0, .25);
  map.Add(1, 0, .01);
  map.Add(2, 0, .0001);
  map.Add(3, 0, 0);
  EXPECT_EQ(
      map.Svg("a"),
      "<g id=\"a\"><path class=\"h1\" d=\"M1 0.5h1\"/><path class=\"h6\" d=\"M0 0.5h1\"/></g>\n")
      << "a tenth of a tenth of a percent is nothing";
}

TEST(HeatMap, TakesNoSharesThatThereAreNot) {
  HeatMap map;
  map.Add(-2, 0, 1.00001);
  map.Add(-1, 0, -.5);
  EXPECT_EQ(map.Svg("a"), "<g id=\"a\"><path class=\"h12\" d=\"M-2 0.5h1\"/></g>\n");
}

TEST(HeatMap, CountsItsBytes) {
  HeatMap map;
  EXPECT_EQ(map.bytes(), 0u);
  map.Add(0, 0, 1);
  EXPECT_EQ(map.bytes(), 8u) << "also of a stroke that may go on";
  for (int64_t y = 1; y < 10; ++y) map.Add(0, y, 1);
  EXPECT_EQ(map.bytes(), 80u);
  EXPECT_LE(map.bytes(), map.Svg("a").size());
}

}  // namespace
}  // namespace skald::explain
