/// Numbers for people: sizes, counts, rates, durations, and the statistics line of `skald run`.
#pragma once

#include <cstdint>
#include <string>

namespace skald::cli {

/// "0 B", "1023 B", "1.0 KiB", "12.3 GiB": binary units, one decimal from KiB on.
std::string Bytes(int64_t bytes);

/// "999", "260.0 K", "1.2 M", "7.2 B": decimal units, as parameter counts are quoted.
std::string Count(int64_t count);

/// `count` / `seconds` with about three digits: "0.52", "12.3", "310". "-" if nothing was measured.
std::string Rate(int64_t count, double seconds);

/// "41 ms", "950 us", "12.3 s": about three digits.
std::string Duration(double seconds);

/// What the statistics line says.
struct RunStats {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  double prefill_seconds = 0;  ///< until the first token was known
  double decode_seconds = 0;   ///< from then on
  std::string finish_reason;
  uint64_t seed = 0;
};

/// "prompt 5 tokens, 120 tok/s | decode 200 tokens, 310 tok/s | TTFT 41 ms | stop: length | seed
/// 7". The first token comes out of the prefill, so the decode rate counts the ones after it.
std::string StatsLine(const RunStats& stats);

}  // namespace skald::cli
