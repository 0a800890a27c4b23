#include "cli/bench_cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace skald::cli {

std::vector<BenchCase> CasesOf(const BenchLists& lists) {
  std::vector<BenchCase> cases;
  for (const int64_t depth : lists.depths) {
    for (const int64_t prompt : lists.prompt_tokens) {
      if (prompt > 0) cases.push_back({.prompt_tokens = prompt, .depth = depth});
    }
    for (const int64_t decode : lists.decode_tokens) {
      for (const int64_t batch : lists.batches) {
        if (decode > 0) cases.push_back({.decode_tokens = decode, .batch = batch, .depth = depth});
      }
    }
  }
  return cases;
}

BenchLimits LimitsOf(const std::vector<BenchCase>& cases) {
  BenchLimits limits;
  for (const BenchCase& bench_case : cases) {
    limits.batch = std::max(limits.batch, bench_case.batch);
    limits.positions = std::max(
        limits.positions, bench_case.depth + bench_case.prompt_tokens + bench_case.decode_tokens);
  }
  return limits;
}

std::string CaseName(const BenchCase& bench_case) {
  std::string name = bench_case.prompt_tokens > 0 ? fmt::format("pp{}", bench_case.prompt_tokens)
                                                  : fmt::format("tg{}", bench_case.decode_tokens);
  if (bench_case.batch > 1) name += fmt::format(" b{}", bench_case.batch);
  if (bench_case.depth > 0) name += fmt::format(" @ d{}", bench_case.depth);
  return name;
}

int64_t TokensOf(const BenchCase& bench_case) {
  return bench_case.batch * (bench_case.prompt_tokens + bench_case.decode_tokens);
}

Spread SpreadOf(std::vector<double> samples) {
  CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {.median = median, .min = samples.front(), .max = samples.back()};
}

}  // namespace skald::cli
