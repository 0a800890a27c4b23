#include "skald/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/json_writer.h"
#include "figure/svg.h"

namespace skald {
namespace {

using figure::Axis;
using figure::AxisAround;
using figure::kLeft;
using figure::kMargin;
using figure::kRight;
using figure::Line;
using figure::Prefixed;
using figure::Text;

constexpr double kTop = 88;
constexpr double kBottom = 504;
constexpr double kHeight = 600;

// Purple is an aggregate, here a rate of the machine; amber is computed.
constexpr std::string_view kStyle = R"(.roof text { fill: var(--purple); }
.roof line { stroke: var(--purple); stroke-width: 2; }
.dots circle, .dots rect { fill: var(--amber); stroke: var(--paper); }
)";

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

// The slope ends where it meets the highest flat line.
std::string Roofs(const std::vector<Roof>& roofs, double bytes_per_second, const Axis& x,
                  const Axis& y) {
  std::string svg = "<g class=\"roof\">\n";
  const double from = std::max(x.least, y.least / bytes_per_second);
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
  return json.Take();
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
  const Axis x = AxisAround(intensities, FigureScale::kLog, kLeft, kRight);
  const Axis y = AxisAround(rates, FigureScale::kLog, kBottom, kTop);
  const std::string title = Finding(roofline);
  std::string svg =
      figure::BeginSvg({.height = kHeight, .title = title, .data = Data(roofline), .more = kStyle});
  svg += Text(kMargin, 40, "class=\"title\"", title);
  svg += figure::GridOf({.x = x,
                         .y = y,
                         .x_label = "operations for each byte from memory (FLOP/byte)",
                         .y_label = "operations a second (FLOP/s)"});
  svg += Roofs(roofs, bytes_per_second, x, y) + Dots(roofline, x, y);
  svg += Text(kMargin, kHeight - 16, "", roofline.command);
  return svg + "</svg>\n";
}

}  // namespace skald
