/// HeatMap: a matrix of shares as an SVG group: one hue, light to dark, nothing where there is
/// nothing.
///
/// A cell is one unit wide and high. Cells of one level are one path, and neighbours one stroke, so
/// that a map of some thousand cells takes some thousand bytes. The level of a share is the root of
/// it: what a head gives to many tokens would not be seen beside what it gives to one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace skald::explain {

/// Levels above nothing. The style has a shade for each.
inline constexpr int kHeatLevels = 12;

class HeatMap {
 public:
  /// The cell at column `x` of row `y`, both from 0; `share` in [0, 1]. Of a row from left to
  /// right.
  void Add(int64_t x, int64_t y, double share);

  /// <g id="`id`">: paths of the classes h1 .. h12, drawn with the colour at hand.
  std::string Svg(const std::string& id);
  /// Bytes that Svg has at least.
  size_t bytes() const;

 private:
  // Strokes of one level, and the last of them, which may go on.
  struct Level {
    std::string strokes = {};
    int64_t x = 0;
    int64_t y = 0;
    int64_t count = 0;

    void End();
  };

  std::array<Level, kHeatLevels + 1> levels_ = {};
};

}  // namespace skald::explain
