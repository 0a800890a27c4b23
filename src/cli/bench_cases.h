/// The cases of `skald bench`: which ones a command line asks for, and what they are called.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skald/bench.h"

namespace skald::cli {

/// Lists of values, as given: every combination that makes sense is a case.
struct BenchLists {
  std::vector<int64_t> prompt_tokens = {512};  ///< -p; 0 = no prefill case
  std::vector<int64_t> decode_tokens = {128};  ///< -n; 0 = no decode case
  std::vector<int64_t> batches = {1};          ///< -b, of decode cases
  std::vector<int64_t> depths = {0};           ///< -d
};

/// For each depth: a prefill case for each length of a prompt, then a decode case for each length
/// and batch. Lengths of 0 give none.
std::vector<BenchCase> CasesOf(const BenchLists& lists);

/// What a session needs for all of them.
BenchLimits LimitsOf(const std::vector<BenchCase>& cases);

/// "pp512", "tg128", "tg128 b8", "pp512 @ d3072": as llama-bench, with the batch.
std::string CaseName(const BenchCase& bench_case);

/// Tokens that a case computes while it is timed.
int64_t TokensOf(const BenchCase& bench_case);

/// Median, least and greatest of some samples.
struct Spread {
  double median = 0;  ///< of an even number of samples, the mean of the two in the middle
  double min = 0;
  double max = 0;
};
/// Requires at least one sample.
Spread SpreadOf(std::vector<double> samples);

/// The spread of what `of` says of each of them. Requires at least one.
template <typename T, typename Of>
Spread SpreadBy(const std::vector<T>& all, const Of& of) {
  std::vector<double> samples;
  samples.reserve(all.size());
  for (const T& one : all) samples.push_back(of(one));
  return SpreadOf(std::move(samples));
}

}  // namespace skald::cli
