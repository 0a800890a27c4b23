#include "skald/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/utf8.h"
#include "figure/markup.h"
#include "figure/svg.h"

namespace skald {
namespace {

using figure::Axis;
using figure::kLeft;
using figure::kMargin;
using figure::kRight;

// A line of a kind has a pattern of its own: colour alone says too little.
constexpr std::string_view kStyle = R"(.strip { font: 13px ui-monospace, monospace; }
polyline { fill: none; stroke-width: 2; } .dot { stroke: none; }
.blue { stroke: var(--blue); } .amber { stroke: var(--amber); stroke-dasharray: 8 4; }
.green { stroke: var(--green); stroke-dasharray: 2 3; }
.purple { stroke: var(--purple); stroke-dasharray: 8 3 2 3; }
.red { stroke: var(--red); stroke-width: 3; }
.grey { stroke: var(--grey); stroke-dasharray: 1 4; }
rect { stroke: none; }
rect.blue { fill: var(--blue-on); } rect.amber { fill: var(--amber-on); }
rect.green { fill: var(--green-on); } rect.purple { fill: var(--purple-on); }
rect.red { fill: var(--red-on); stroke: var(--red); stroke-width: 1; }
rect.grey { fill: var(--none); }
.place { stroke: var(--red); stroke-dasharray: 4 4; } .place-name { fill: var(--red); }
)";

constexpr double kLine = 24;          // of titles, notes and strips
constexpr double kCharacter = 7.9;    // about as wide at 13 pixels, of one width
constexpr double kPanelHeight = 224;  // of the frame alone
constexpr double kPanelHead = 72;     // title, names of the lines, label of the axis
constexpr double kPanelFoot = 72;     // ticks and label
constexpr size_t kTitleColumns = 84;  // at 20 pixels
constexpr size_t kNoteColumns = 120;  // at 13

std::string_view ClassOf(FigureMark mark) {
  switch (mark) {
    case FigureMark::kInput: return "blue";
    case FigureMark::kComputed: return "amber";
    case FigureMark::kResult: return "green";
    case FigureMark::kSum: return "purple";
    case FigureMark::kFault: return "red";
    case FigureMark::kNone: return "grey";
  }
  return "";
}

// Characters of a text as it is shown, entities as one.
double WidthOf(std::string_view token) {
  double characters = 0;
  while (!token.empty()) {
    const Utf8Sequence sequence = ReadUtf8(token);
    const bool is_shown = sequence.kind == Utf8Sequence::Kind::kWellFormed;
    characters += is_shown ? 1 : 4 * sequence.length;
    token.remove_prefix(static_cast<size_t>(sequence.length));
  }
  return 8 + kCharacter * std::max(1.0, characters);
}

// Draws from top to bottom: `y` is where the next thing begins.
class Drawing {
 public:
  explicit Drawing(double y) : y_(y) {}

  double y() const { return y_; }
  std::string Take() { return std::move(svg_); }

  void AddLines(std::string_view text, size_t columns, std::string_view attributes) {
    for (const std::string& line : figure::Lines(text, columns)) {
      svg_ += figure::Text(kMargin, y_, attributes, line);
      y_ += kLine;
    }
  }

  void Add(const FigureStrip& strip) {
    AddLines(strip.name, kNoteColumns, "class=\"head\"");
    svg_ += "<g class=\"strip\">\n";
    double x = kMargin;
    for (const FigureCell& cell : strip.cells) {
      const double width = WidthOf(cell.text);
      if (x + width > kRight && x > kMargin) {
        x = kMargin;
        y_ += kLine;
      }
      svg_ += fmt::format(
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"20\" "
          "rx=\"3\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          ClassOf(cell.mark), x, y_ - 15, width, x + 4, y_, figure::HtmlToken(cell.text));
      x += width + 2;
    }
    svg_ += "</g>\n";
    y_ += kLine + 16;
  }

  void Add(const FigurePanel& panel) {
    svg_ += figure::Text(kMargin, y_, "class=\"head\"", panel.title);
    AddNames(panel);
    const double top = y_ + kPanelHead;
    const double bottom = top + kPanelHeight;
    std::vector<double> xs;
    std::vector<double> ys;
    for (const FigureSeries& series : panel.series) {
      for (const FigurePoint& point : series.points) {
        xs.push_back(point.x);
        ys.push_back(point.y);
      }
    }
    // Amounts begin at nothing.
    if (panel.y.scale == FigureScale::kLinear) ys.push_back(0);
    const Axis x = figure::AxisAround(xs, panel.x.scale, kLeft, kRight);
    const Axis y = figure::AxisAround(ys, panel.y.scale, bottom, top);
    svg_ += figure::GridOf({.x = x, .y = y, .x_label = panel.x.label, .y_label = panel.y.label});
    if (panel.place) AddPlace(*panel.place, x, y);
    for (const FigureSeries& series : panel.series) AddSeries(series, x, y);
    y_ = bottom + kPanelFoot;
  }

 private:
  // A short line of its kind before each name.
  void AddNames(const FigurePanel& panel) {
    double x = kMargin;
    for (const FigureSeries& series : panel.series) {
      svg_ += fmt::format("<polyline class=\"{}\" points=\"{:.1f},{:.1f} {:.1f},{:.1f}\"/>\n",
                          ClassOf(series.mark), x, y_ + 20, x + 32, y_ + 20);
      svg_ += figure::Text(x + 40, y_ + 24, "", series.name);
      x += 56 + WidthOf(series.name);
    }
  }

  void AddPlace(const FigurePlace& place, const Axis& x, const Axis& y) {
    const double at = x.At(place.x);
    svg_ += fmt::format(
        "<line class=\"place\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" "
        "y2=\"{2:.1f}\"/>\n",
        at, y.begin, y.end);
    const bool is_right = at > (x.begin + x.end) / 2;
    svg_ +=
        figure::Text(at + (is_right ? -6 : 6), y.end + 14,
                     is_right ? "class=\"place-name\" text-anchor=\"end\"" : "class=\"place-name\"",
                     place.label);
  }

  void AddSeries(const FigureSeries& series, const Axis& x, const Axis& y) {
    std::string points;
    int count = 0;
    const auto finish = [&] {
      if (count == 1) {  // a line of one point is not seen
        const size_t comma = points.find(',');
        svg_ +=
            fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"2\"/>\n",
                        ClassOf(series.mark), points.substr(0, comma), points.substr(comma + 1));
      } else if (count > 1) {
        svg_ += fmt::format("<polyline class=\"{}\" points=\"{}\"><title>{}</title></polyline>\n",
                            ClassOf(series.mark), points, figure::HtmlText(series.name));
      }
      points.clear();
      count = 0;
    };
    for (const FigurePoint& point : series.points) {
      if (!std::isfinite(point.y) || (y.scale == FigureScale::kLog && point.y < y.least)) {
        finish();
        continue;
      }
      points += fmt::format("{}{:.1f},{:.1f}", count > 0 ? " " : "", x.At(point.x), y.At(point.y));
      ++count;
    }
    finish();
  }

  double y_;
  std::string svg_ = {};
};

}  // namespace

std::string FigureSvg(const Figure& figure) {
  Drawing drawing(40);
  drawing.AddLines(figure.title, kTitleColumns, "class=\"title\"");
  drawing.AddLines(figure.note, kNoteColumns, "");
  Drawing body(drawing.y() + 16);
  for (const FigureStrip& strip : figure.strips) body.Add(strip);
  for (const FigurePanel& panel : figure.panels) body.Add(panel);
  const double end = body.y() + 16;
  return figure::BeginSvg(
             {.height = end + 16, .title = figure.title, .data = figure.data, .more = kStyle}) +
         drawing.Take() + body.Take() + figure::Text(kMargin, end, "", figure.command) + "</svg>\n";
}

}  // namespace skald
