// How long one token takes. Goal: below 1 ms at the vocabulary of Llama 3 for every common setting.
// The floor is reading the row once: 513 kB, printed as bytes_per_second. Not measured: the model.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/exact_math.h"
#include "base/rng.h"
#include "sampling/sampler.h"

namespace skald::sampling {
namespace {

constexpr int64_t kVocabSize = 128256;

/// Normally distributed logits (Box-Muller). Their standard deviation decides how many tokens make
/// up 95 % of the probability: 160 at 6, 9,300 at 3 (flatter than a trained model), 95,000 at 1; at
/// 0 all are equal.
std::vector<float> Logits(double deviation) {
  std::vector<float> logits(kVocabSize);
  for (int64_t i = 0; i < kVocabSize; ++i) {
    const std::array<double, 2> u = UniformPair({.seed = 7}, static_cast<uint32_t>(i));
    const double normal =
        std::sqrt(-2 * ExactLog(1 - u[0])) * ExactSinCos(6.283185307179586 * u[1]).cos;
    logits[i] = static_cast<float>(deviation * normal);
  }
  return logits;
}

void Run(benchmark::State& state, double deviation, const SamplingParams& params) {
  Result<Sampler> sampler = Sampler::Create(kVocabSize, kernels::DetectIsa());
  CHECK(sampler.ok() && Validate(params, kVocabSize).ok());
  const std::vector<float> logits = Logits(deviation);
  const std::vector<TokenId> prompt(64, 17);
  uint64_t position = 0;
  for (auto _ : state) {
    const Result<Sampled> sampled = sampler->Sample(
        {.logits = logits, .prompt = prompt, .output = {}, .key = {.position = position++}},
        params);
    CHECK(sampled.ok());
    benchmark::DoNotOptimize(sampled->token);
  }
  state.SetBytesProcessed(state.iterations() * kVocabSize * static_cast<int64_t>(sizeof(float)));
}

constexpr Truncation kNone = {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 1};
constexpr Truncation kTopPOnly = {.top_k = 0, .top_p = 0.95, .min_p = 0, .typical_p = 1};
constexpr Truncation kTypicalOnly = {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 0.9};
constexpr Truncation kMinPOnly = {.top_k = 0, .top_p = 1, .min_p = 0.05, .typical_p = 1};

BENCHMARK_CAPTURE(Run, greedy, 3.0, {.temperature = 0});
BENCHMARK_CAPTURE(Run, defaults_top_k_40, 3.0, {});
BENCHMARK_CAPTURE(Run, defaults_and_repetition_penalty, 3.0, {.penalties = {.repetition = 1.1}});
BENCHMARK_CAPTURE(Run, defaults_and_20_logprobs, 3.0, {.top_logprobs = 20});
BENCHMARK_CAPTURE(Run, top_p_only_peaked, 6.0, {.truncation = kTopPOnly});
BENCHMARK_CAPTURE(Run, top_p_only, 3.0, {.truncation = kTopPOnly});
BENCHMARK_CAPTURE(Run, top_p_only_flat, 1.0, {.truncation = kTopPOnly});
BENCHMARK_CAPTURE(Run, top_p_only_all_equal, 0.0, {.truncation = kTopPOnly});
BENCHMARK_CAPTURE(Run, typical_only, 3.0, {.truncation = kTypicalOnly});
BENCHMARK_CAPTURE(Run, min_p_only, 3.0, {.truncation = kMinPOnly});
BENCHMARK_CAPTURE(Run, temperature_only, 3.0, {.truncation = kNone});
BENCHMARK_CAPTURE(Run, temperature_only_flat, 1.0, {.truncation = kNone});

}  // namespace
}  // namespace skald::sampling
