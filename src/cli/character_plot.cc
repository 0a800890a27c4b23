#include "cli/character_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/utf8.h"

namespace skald::cli {
namespace {

// Of the first line, the second, ...; a line behind the last has the last.
constexpr std::string_view kGlyphs = "#.*+ox";

char GlyphOf(size_t series) { return kGlyphs[std::min(series, kGlyphs.size() - 1)]; }

Tint TintOf(FigureMark mark) {
  switch (mark) {
    case FigureMark::kInput: return Tint::kInput;
    case FigureMark::kComputed: return Tint::kComputed;
    case FigureMark::kResult: return Tint::kResult;
    case FigureMark::kSum: return Tint::kAggregate;
    case FigureMark::kFault: return Tint::kFault;
    case FigureMark::kNone: return Tint::kPlain;
  }
  return Tint::kPlain;
}

// The least and the largest value of an axis, in the units in which it is even.
class Span {
 public:
  explicit Span(FigureScale scale) : scale_(scale) {}

  void Add(double value) {
    if (!Shows(value)) return;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  bool Shows(double value) const {
    return std::isfinite(value) && (scale_ == FigureScale::kLinear || value > 0);
  }
  // Where it stands among `count` places. Requires Shows(value).
  int64_t PlaceOf(double value, int64_t count) const {
    if (!(most_ > least_)) return 0;
    const bool is_log = scale_ == FigureScale::kLog;
    const double share = is_log ? std::log(value / least_) / std::log(most_ / least_)
                                : (value - least_) / (most_ - least_);
    return std::clamp<int64_t>(std::llround(share * static_cast<double>(count - 1)), 0, count - 1);
  }
  double least() const { return std::isfinite(least_) ? least_ : 0; }
  double most() const { return std::isfinite(most_) ? most_ : 0; }

 private:
  FigureScale scale_;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

std::string Number(double value) { return fmt::format("{:.4g}", value); }

// What stands where: a series in each place, or none.
class Canvas {
 public:
  explicit Canvas(const PlotSize& size)
      : size_(size), places_(static_cast<size_t>(size.columns * size.rows)) {}

  // The row of each column that has points, and straight lines between them.
  void Draw(size_t series, const std::vector<std::optional<int64_t>>& heights) {
    int64_t last = -1;
    for (int64_t column = 0; column < size_.columns; ++column) {
      const auto& height = heights[static_cast<size_t>(column)];
      if (!height) continue;
      const int64_t from = last < 0 ? column : last;
      const int64_t before = *heights[static_cast<size_t>(from)];
      for (int64_t x = last < 0 ? column : last + 1; x <= column; ++x) {
        const double share =
            column > from ? static_cast<double>(x - from) / static_cast<double>(column - from) : 1;
        const double y =
            static_cast<double>(before) + share * static_cast<double>(*height - before);
        At(x, std::llround(y)) = series;
      }
      last = column;
    }
  }

  std::optional<size_t>& At(int64_t column, int64_t row) {
    return places_[static_cast<size_t>(row * size_.columns + column)];
  }

 private:
  PlotSize size_;
  std::vector<std::optional<size_t>> places_;
};

// Of each column the largest value that falls into it, as a row.
std::vector<std::optional<int64_t>> HeightsOf(const FigureSeries& series, const Span& x,
                                              const Span& y, const PlotSize& size) {
  std::vector<std::optional<int64_t>> heights(static_cast<size_t>(size.columns));
  for (const FigurePoint& point : series.points) {
    if (!x.Shows(point.x) || !y.Shows(point.y)) continue;
    auto& height = heights[static_cast<size_t>(x.PlaceOf(point.x, size.columns))];
    const int64_t row = y.PlaceOf(point.y, size.rows);
    height = height ? std::max(*height, row) : row;
  }
  return heights;
}

std::string Heading(const FigurePanel& panel, Painting painting) {
  std::string text = TerminalLine(panel.title) + "\n" + TerminalLine(panel.y.label) + ":";
  for (size_t i = 0; i < panel.series.size(); ++i) {
    text += fmt::format("  {} {}",
                        Paint(std::string(1, GlyphOf(i)), TintOf(panel.series[i].mark), painting),
                        TerminalLine(panel.series[i].name));
  }
  return text + "\n";
}

}  // namespace

std::string CharacterPlot(const FigurePanel& panel, const PlotSize& size, Painting painting) {
  Span x(panel.x.scale);
  Span y(panel.y.scale);
  if (panel.y.scale == FigureScale::kLinear) y.Add(0);
  for (const FigureSeries& series : panel.series) {
    for (const FigurePoint& point : series.points) {
      x.Add(point.x);
      y.Add(point.y);
    }
  }
  Canvas canvas(size);
  // The first line stands before all others.
  for (size_t i = panel.series.size(); i-- > 0;) {
    canvas.Draw(i, HeightsOf(panel.series[i], x, y, size));
  }
  std::string text = Heading(panel, painting);
  for (int64_t row = size.rows; row-- > 0;) {
    std::string label;
    if (row == size.rows - 1) label = Number(y.most());
    if (row == 0) label = Number(y.least());
    std::string line = fmt::format("{:>9} |", label);
    std::string blanks;
    for (int64_t column = 0; column < size.columns; ++column) {
      const auto series = canvas.At(column, row);
      if (!series) {
        blanks += ' ';
        continue;
      }
      line += blanks +
              Paint(std::string(1, GlyphOf(*series)), TintOf(panel.series[*series].mark), painting);
      blanks.clear();
    }
    text += line + "\n";
  }
  text += std::string(10, ' ') + '+' + std::string(static_cast<size_t>(size.columns), '-') + "\n";
  const std::string least = Number(x.least());
  const std::string most = Number(x.most());
  const auto width = static_cast<size_t>(size.columns);
  const std::string middle = TerminalLine(panel.x.label);
  std::string axis = least;
  axis.resize(std::max(axis.size() + 1, (width - std::min(width, DisplayWidth(middle))) / 2), ' ');
  axis += middle;
  axis.resize(std::max(axis.size() + 1, width - std::min(width, most.size())), ' ');
  text += std::string(11, ' ') + axis + most + "\n";
  if (panel.place && x.Shows(panel.place->x)) {
    const auto at = static_cast<size_t>(x.PlaceOf(panel.place->x, size.columns));
    text += std::string(11 + at, ' ') +
            Paint("^ " + TerminalLine(panel.place->label), Tint::kFault, painting) + "\n";
  }
  return text;
}

}  // namespace skald::cli
