#include "figure/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "figure/markup.h"
#include "figure/palette.h"

namespace skald::figure {
namespace {

constexpr std::string_view kRules =
    R"(text { fill: var(--ink); font-variant-numeric: tabular-nums; }
.title { font-size: 20px; } .head { font-size: 15px; } .grid line { stroke: var(--rule); }
)";

// Ticks of a linear axis: about this many.
constexpr double kLinearTicks = 5;

// 1, 2 or 5 times a power of ten, so that about kLinearTicks of them are a span.
double StepOf(double span) {
  const double rough = span / kLinearTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// A number as short as it can be told.
std::string TickLabel(double value) {
  if (value == 0) return "0";
  if (std::abs(value) >= 1e4) return Prefixed(value);
  return fmt::format("{:.4g}", value);
}

}  // namespace

double Axis::At(double value) const {
  const double share = scale == FigureScale::kLog
                           ? std::log10(value / least) / std::log10(most / least)
                           : (value - least) / (most - least);
  return begin + share * (end - begin);
}

std::vector<double> Axis::Ticks() const {
  std::vector<double> ticks;
  if (scale == FigureScale::kLog) {
    const auto decades = static_cast<int>(std::lround(std::log10(most / least)));
    for (int i = 0; i <= decades; ++i) ticks.push_back(least * std::pow(10, i));
    return ticks;
  }
  const double step = StepOf(most - least);
  const auto count = static_cast<int>(std::lround((most - least) / step));
  for (int i = 0; i <= count; ++i) ticks.push_back(least + i * step);
  return ticks;
}

Axis AxisAround(const std::vector<double>& values, FigureScale scale, double begin, double end) {
  std::vector<double> shown;
  std::copy_if(values.begin(), values.end(), std::back_inserter(shown), [&](double value) {
    return std::isfinite(value) && (scale == FigureScale::kLinear || value > 0);
  });
  if (shown.empty()) shown = {1};
  const auto [least, most] = std::minmax_element(shown.begin(), shown.end());
  Axis axis = {.scale = scale, .begin = begin, .end = end};
  if (scale == FigureScale::kLog) {
    const double first = std::floor(std::log10(*least));
    const double last = std::max(std::ceil(std::log10(*most)), first + 1);
    axis.least = std::pow(10, first);
    axis.most = std::pow(10, last);
    return axis;
  }
  const double step = StepOf(*most > *least ? *most - *least : std::max(std::abs(*most), 1.0));
  axis.least = std::floor(*least / step) * step;
  axis.most = std::max(std::ceil(*most / step) * step, axis.least + step);
  return axis;
}

std::string Prefixed(double value) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) value /= 1000;
  return fmt::format("{:.3g} {}", value, kPrefixes[prefix]);
}

std::string BeginSvg(const SvgHead& head) {
  const std::string title = HtmlText(head.title);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" role=\"img\" "
      "aria-labelledby=\"title\">\n<title id=\"title\">{}</title>\n<metadata>{}</metadata>\n"
      "<style>\nsvg {{{}\n  background: var(--paper); font: 13px system-ui, sans-serif; }}\n"
      "@media (prefers-color-scheme: dark) {{ svg {{{} }} }}\n{}{}</style>\n",
      kWidth, head.height, title, HtmlText(head.data), kLightPalette, kDarkPalette, kRules,
      head.more);
}

std::string Text(double x, double y, std::string_view attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     HtmlText(text));
}

std::string Line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1,
                     x2, y2);
}

std::string GridOf(const Frame& frame) {
  const Axis& x = frame.x;
  const Axis& y = frame.y;
  std::string svg = "<g class=\"grid\">\n";
  for (const double tick : x.Ticks()) {
    const double at = x.At(tick);
    svg += Line(at, y.begin, at, y.end);
    svg += Text(at, y.begin + 20, "text-anchor=\"middle\"", TickLabel(tick));
  }
  for (const double tick : y.Ticks()) {
    const double at = y.At(tick);
    svg += Line(x.begin, at, x.end, at);
    svg += Text(x.begin - 8, at + 4, "text-anchor=\"end\"", TickLabel(tick));
  }
  svg += Text((x.begin + x.end) / 2, y.begin + 44, "text-anchor=\"middle\"", frame.x_label);
  return svg + Text(kMargin, y.end - 16, "", frame.y_label) + "</g>\n";
}

std::vector<std::string> Lines(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  while (text.size() > columns) {
    size_t cut = text.rfind(' ', columns);
    if (cut == std::string_view::npos || cut == 0) cut = std::min(text.find(' '), text.size());
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
  if (!text.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace skald::figure
