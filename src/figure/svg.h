/// Svg: the pieces of a drawing, and axes for it. What looks the same in all figures stands here
/// once: the meanings of colour, the letters, the grid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/figure.h"

namespace skald::figure {

/// The left and the right end of what is drawn, in the units of all figures: 960 wide, a grid of 8.
inline constexpr double kWidth = 960;
inline constexpr double kLeft = 88;
inline constexpr double kRight = 920;
/// Where titles begin.
inline constexpr double kMargin = 16;

/// From values to places of the drawing.
struct Axis {
  FigureScale scale = FigureScale::kLinear;
  double least = 0;  ///< value at `begin`
  double most = 1;   ///< value at `end`
  double begin = 0;
  double end = 1;

  double At(double value) const;
  /// Values that the grid shows, from the least to the most.
  std::vector<double> Ticks() const;
};

/// Around all values, ends at whole ticks: of a logarithmic axis at powers of ten. `values` may be
/// empty; those that the scale cannot show are left out.
Axis AxisAround(const std::vector<double>& values, FigureScale scale, double begin, double end);

/// "3.35 T": with the prefix for its power of a thousand.
std::string Prefixed(double value);

/// The beginning of a document of this height, its title and its data, with the style. `more` is
/// style that only this drawing has. To be ended by "</svg>\n".
struct SvgHead {
  double height = 600;
  std::string_view title = {};
  std::string_view data = {};
  std::string_view more = {};
};
std::string BeginSvg(const SvgHead& head);

/// `attributes` are markup, `text` is text.
std::string Text(double x, double y, std::string_view attributes, std::string_view text);
std::string Line(double x1, double y1, double x2, double y2);

/// The grid of a frame, with ticks and the labels of both axes.
struct Frame {
  Axis x = {};
  Axis y = {};
  std::string_view x_label = {};
  std::string_view y_label = {};
};
std::string GridOf(const Frame& frame);

/// A text of any length in lines of at most `columns` characters, cut at spaces.
std::vector<std::string> Lines(std::string_view text, size_t columns);

}  // namespace skald::figure
