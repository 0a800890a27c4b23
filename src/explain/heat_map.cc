#include "explain/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace skald::explain {
namespace {

constexpr std::string_view kLeastStroke = "M0 0.5h1";

}  // namespace

void HeatMap::Level::End() {
  // In the middle of the row: a stroke is one unit high.
  if (count > 0) strokes += fmt::format("M{} {}.5h{}", x, y, count);
  count = 0;
}

void HeatMap::Add(int64_t x, int64_t y, double share) {
  const double root = std::sqrt(std::clamp(share, 0.0, 1.0));
  const auto level = static_cast<size_t>(std::lround(root * kHeatLevels));
  if (level == 0) return;
  Level& strokes = levels_[level];
  if (strokes.count > 0 && strokes.y == y && strokes.x + strokes.count == x) {
    ++strokes.count;
    return;
  }
  strokes.End();
  strokes.x = x;
  strokes.y = y;
  strokes.count = 1;
}

std::string HeatMap::Svg(const std::string& id) {
  std::string svg = fmt::format("<g id=\"{}\">", id);
  for (size_t level = 1; level < levels_.size(); ++level) {
    levels_[level].End();
    if (levels_[level].strokes.empty()) continue;
    svg += fmt::format("<path class=\"h{}\" d=\"{}\"/>", level, levels_[level].strokes);
  }
  return svg + "</g>\n";
}

size_t HeatMap::bytes() const {
  size_t bytes = 0;
  for (const Level& level : levels_) {
    bytes += level.strokes.size() + (level.count > 0 ? kLeastStroke.size() : 0);
  }
  return bytes;
}

}  // namespace skald::explain
