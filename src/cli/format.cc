#include "cli/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace skald::cli {

namespace {

// The number in the largest unit that leaves at least 1, with one decimal unless it is the first.
template <size_t kUnits>
std::string Scaled(int64_t number, double step, const std::array<std::string_view, kUnits>& units) {
  double scaled = static_cast<double>(number);
  size_t unit = 0;
  // 0.95 of a step rounds to "1000.0"; it is shown as "1.0" of the next unit.
  while (unit + 1 < kUnits && scaled >= step - (unit == 0 ? 0.0 : 0.05)) {
    scaled /= step;
    ++unit;
  }
  if (unit == 0) return fmt::format("{}{}", number, units[0]);
  return fmt::format("{:.1f}{}", scaled, units[unit]);
}

std::string ThreeDigits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string Bytes(int64_t bytes) {
  return Scaled<5>(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string Count(int64_t count) { return Scaled<5>(count, 1000, {"", " K", " M", " B", " T"}); }

std::string Rate(int64_t count, double seconds) {
  if (count <= 0 || !(seconds > 0)) return "-";
  return ThreeDigits(static_cast<double>(count) / seconds);
}

std::string Duration(double seconds) {
  if (!(seconds > 0)) return "0 ms";
  if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  return ThreeDigits(seconds) + " s";
}

std::string StatsLine(const RunStats& stats) {
  return fmt::format(
      "prompt {} tokens, {} tok/s | decode {} tokens, {} tok/s | TTFT {} | stop: {} | seed {}",
      stats.prompt_tokens, Rate(stats.prompt_tokens, stats.prefill_seconds),
      stats.completion_tokens, Rate(stats.completion_tokens - 1, stats.decode_seconds),
      Duration(stats.prefill_seconds), stats.finish_reason, stats.seed);
}

}  // namespace skald::cli
