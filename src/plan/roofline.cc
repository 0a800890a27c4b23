#include "skald/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/json_writer.h"

namespace skald {
namespace {

// A grid of 8 pixels. Meanings of colours: amber is computed, purple an aggregate (a rate of the
// machine), grey not there.
constexpr double kLeft = 88;
constexpr double kRight = 920;
constexpr double kTop = 88;
constexpr double kBottom = 504;

constexpr std::string_view kStyle = R"(<style>
svg { --ink: #1b1f24; --paper: #ffffff; --rule: #d8dde3; --amber: #8a5a00; --purple: #6b3fa0;
      background: var(--paper); font: 13px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6e9ed; --paper: #14171b; --rule: #3a4149; --amber: #e0b25c; --purple: #b79be0; } }
text { fill: var(--ink); font-variant-numeric: tabular-nums; }
.title { font-size: 20px; } .roof text { fill: var(--purple); }
.grid line { stroke: var(--rule); } .roof line { stroke: var(--purple); stroke-width: 2; }
.dots circle, .dots rect { fill: var(--amber); stroke: var(--paper); }
</style>
)";

// Of an axis: the powers of ten at its ends.
struct Axis {
  int first = 0;
  int last = 1;
  double begin = 0;
  double end = 1;

  double At(double value) const {
    return begin + (std::log10(value) - first) / (last - first) * (end - begin);
  }
};

// Whole powers of ten around all values.
Axis AxisAround(const std::vector<double>& values, double begin, double end) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  Axis axis = {.first = static_cast<int>(std::floor(std::log10(*least))),
               .last = static_cast<int>(std::ceil(std::log10(*most))),
               .begin = begin,
               .end = end};
  axis.last = std::max(axis.last, axis.first + 1);
  return axis;
}

struct Roof {
  std::string_view name;
  double operations_per_second;
};

// The kinds of arithmetic that the forecasts have, lowest first.
std::vector<Roof> RoofsOf(const Roofline& roofline) {
  const Ceilings& all = roofline.machine.ceilings;
  double int8 = 0;
  double bfloat16 = 0;
  for (const Forecast& forecast : roofline.forecasts) {
    int8 += forecast.work.int8_macs;
    bfloat16 += forecast.work.bfloat16_macs;
  }
  std::vector<Roof> roofs = {{"fp32", 2 * all.float_macs_per_second}};  // attention always is
  if (bfloat16 > 0) roofs.push_back({"bf16", 2 * all.bfloat16_macs_per_second});
  if (int8 > 0) roofs.push_back({"int8", 2 * all.int8_macs_per_second});
  std::stable_sort(roofs.begin(), roofs.end(), [](const Roof& a, const Roof& b) {
    return a.operations_per_second < b.operations_per_second;
  });
  return roofs;
}

double RateOf(const Forecast& forecast) { return forecast.operations / forecast.seconds; }

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else if (static_cast<unsigned char>(c) < ' ')
      escaped += ' ';  // XML has no escape for them
    else
      escaped += c;
  }
  return escaped;
}

// "3.35 T": of a rate, with the prefix for its power of a thousand.
std::string Prefixed(double value) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) value /= 1000;
  return fmt::format("{:.3g} {}", value, kPrefixes[prefix]);
}

// What is to be seen, as a sentence: of the steps of least depth, because depth blurs the border.
std::string Finding(const Roofline& roofline) {
  int64_t depth = std::numeric_limits<int64_t>::max();
  for (const Forecast& forecast : roofline.forecasts) {
    if (forecast.bench_case.decode_tokens > 0) depth = std::min(depth, forecast.bench_case.depth);
  }
  int64_t most = 0;
  int64_t least = 0;
  for (const Forecast& forecast : roofline.forecasts) {
    const BenchCase& wanted = forecast.bench_case;
    if (wanted.decode_tokens == 0 || wanted.depth > depth) continue;
    if (forecast.bound.resource == Resource::kMemory) {
      most = std::max(most, wanted.batch);
    } else if (least == 0 || wanted.batch < least) {
      least = wanted.batch;
    }
  }
  const std::string subject =
      fmt::format("A decode step of {} on {}", roofline.shape.name, roofline.machine.name);
  if (most > 0 && least == 0) return subject + " waits for memory";
  if (most > 0) return fmt::format("{} waits for memory with up to {} sequences", subject, most);
  if (least > 0) return subject + " waits for arithmetic";
  return fmt::format("{} on {}", roofline.shape.name, roofline.machine.name);
}

std::string Text(double x, double y, std::string_view attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     Escaped(text));
}

std::string Line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1,
                     x2, y2);
}

std::string Grid(const Axis& x, const Axis& y) {
  std::string svg = "<g class=\"grid\">\n";
  for (int power = x.first; power <= x.last; ++power) {
    const double at = x.At(std::pow(10, power));
    svg += Line(at, kTop, at, kBottom);
    svg +=
        Text(at, kBottom + 20, "text-anchor=\"middle\"", fmt::format("{:g}", std::pow(10, power)));
  }
  for (int power = y.first; power <= y.last; ++power) {
    const double at = y.At(std::pow(10, power));
    svg += Line(kLeft, at, kRight, at);
    svg += Text(kLeft - 8, at + 4, "text-anchor=\"end\"", Prefixed(std::pow(10, power)));
  }
  svg += Text((kLeft + kRight) / 2, kBottom + 44, "text-anchor=\"middle\"",
              "operations for each byte from memory (FLOP/byte)");
  return svg + Text(kLeft - 72, kTop - 16, "", "operations a second (FLOP/s)") + "</g>\n";
}

// The slope ends where it meets the highest flat line.
std::string Roofs(const std::vector<Roof>& roofs, double bytes_per_second, const Axis& x,
                  const Axis& y) {
  std::string svg = "<g class=\"roof\">\n";
  const double least = std::pow(10, x.first);
  const double floor = std::pow(10, y.first);
  const double from = std::max(least, floor / bytes_per_second);
  const double ridge = roofs.back().operations_per_second / bytes_per_second;
  svg += Line(x.At(from), y.At(from * bytes_per_second), x.At(ridge),
              y.At(roofs.back().operations_per_second));
  // High on the slope, where no step of few sequences stands.
  const double high = from * std::pow(ridge / from, 0.9);
  svg += Text(x.At(high) - 12, y.At(high * bytes_per_second) - 8, "text-anchor=\"end\"",
              fmt::format("memory, {}B/s", Prefixed(bytes_per_second)));
  double last_label = 0;
  for (auto roof = roofs.rbegin(); roof != roofs.rend(); ++roof) {
    const double at = y.At(roof->operations_per_second);
    svg += Line(x.At(roof->operations_per_second / bytes_per_second), at, kRight, at);
    if (at - last_label < 16) continue;  // two kinds of the same rate
    last_label = at;
    svg += Text(kRight, at - 6, "text-anchor=\"end\"",
                fmt::format("{}, {}FLOP/s", roof->name, Prefixed(roof->operations_per_second)));
  }
  return svg + "</g>\n";
}

std::string LabelOf(const BenchCase& wanted) {
  const std::string depth = wanted.depth > 0 ? fmt::format(" @ {}", wanted.depth) : "";
  if (wanted.prompt_tokens > 0) return fmt::format("prefill of {}{}", wanted.prompt_tokens, depth);
  return fmt::format("{} {}{}", wanted.batch, wanted.batch == 1 ? "sequence" : "sequences", depth);
}

// Beside a mark at (x, y): right below it; of decode steps with depth left above it, so that the
// marks of one batch do not share a place. What would leave the frame stands below, to the left.
std::string Label(double x, double y, const BenchCase& wanted) {
  const std::string text = LabelOf(wanted);
  constexpr double kCharacter = 7;  // about as wide at 13 pixels
  const double width = 10 + kCharacter * static_cast<double>(text.size());
  const bool has_depth = wanted.depth > 0;
  if (has_depth && wanted.prompt_tokens == 0 && x - width > kLeft)
    return Text(x - 10, y - 6, "text-anchor=\"end\"", text);
  if (x + width < kRight) return Text(x + 10, y + (has_depth ? 30 : 14), "", text);
  return Text(x + 5, y + (has_depth ? 38 : 22), "text-anchor=\"end\"", text);
}

// Prompts are squares, decode steps are circles.
std::string Dots(const Roofline& roofline, const Axis& x, const Axis& y) {
  std::string svg = "<g class=\"dots\">\n";
  for (const Forecast& forecast : roofline.forecasts) {
    const BenchCase& wanted = forecast.bench_case;
    const double cx = x.At(forecast.intensity);
    const double cy = y.At(RateOf(forecast));
    const std::string title =
        fmt::format("<title>{}: {:.4g} tokens/s, {:.4g} ms</title>", LabelOf(wanted),
                    forecast.tokens_per_second, 1e3 * forecast.seconds);
    if (wanted.prompt_tokens > 0) {
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\">{}</rect>\n",
                         cx - 5, cy - 5, title);
    } else {
      svg +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\">{}</circle>\n", cx, cy, title);
    }
    svg += Label(cx, cy, wanted);
  }
  return svg + "</g>\n";
}

std::string Data(const Roofline& roofline) {
  JsonWriter json;
  json.BeginArray();
  for (const Forecast& forecast : roofline.forecasts) {
    json.BeginObject().Key("test").String(LabelOf(forecast.bench_case));
    json.Key("operations").Double(forecast.operations).Key("bytes").Double(forecast.work.bytes);
    json.Key("intensity").Double(forecast.intensity).Key("seconds").Double(forecast.seconds);
    json.Key("bound").String(ResourceName(forecast.bound.resource));
    json.Key("tokens_per_second").Double(forecast.tokens_per_second).EndObject();
  }
  json.EndArray();
  return Escaped(json.Take());
}

}  // namespace

std::string RooflineSvg(const Roofline& roofline) {
  const std::vector<Roof> roofs = RoofsOf(roofline);
  const double bytes_per_second = roofline.machine.ceilings.read_bytes_per_second;
  std::vector<double> intensities;
  std::vector<double> rates;
  for (const Roof& roof : roofs) {
    intensities.push_back(roof.operations_per_second / bytes_per_second);
    rates.push_back(roof.operations_per_second);
  }
  for (const Forecast& forecast : roofline.forecasts) {
    intensities.push_back(forecast.intensity);
    rates.push_back(RateOf(forecast));
  }
  const Axis x = AxisAround(intensities, kLeft, kRight);
  const Axis y = AxisAround(rates, kBottom, kTop);
  const std::string title = Finding(roofline);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 600\" role=\"img\" "
      "aria-labelledby=\"title\">\n<title id=\"title\">{}</title>\n<metadata>{}</metadata>\n",
      Escaped(title), Data(roofline));
  svg += kStyle;
  svg += Text(kLeft - 72, 40, "class=\"title\"", title);
  svg += Grid(x, y) + Roofs(roofs, bytes_per_second, x, y) + Dots(roofline, x, y);
  svg += Text(kLeft - 72, 584, "", roofline.command);
  return svg + "</svg>\n";
}

}  // namespace skald
