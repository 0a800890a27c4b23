/// Plan: what an engine would take of a machine, and how fast it could be there, on paper.
///
///     const Result<ModelShape> shape = NamedModelShape("llama-3-8b", {.weights = "Q4_K_M"});
///     const Result<Machine> machine = NamedMachine("h100");
///     const Result<Forecast> decode =
///         ForecastOf(*shape, {}, *machine, {.decode_tokens = 1, .batch = 32, .depth = 1024});
///     std::cout << decode->tokens_per_second << " tokens/s at most\n";
///
/// Sizes are those that Engine::Create takes, by the same code. Work is what `skald bench` counts,
/// by the same code.
#pragma once

#include <cstdint>

#include "skald/bench.h"
#include "skald/engine.h"
#include "skald/machine.h"
#include "skald/model_shape.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// What Engine::Create would make of these options (Engine::Plan, without a model).
Result<EnginePlan> PlanEngine(const ModelShape& shape, const EngineOptions& options);

/// How many requests of options.context positions a memory holds at the same time: the most
/// sequences whose engine, weights and all, takes at most `memory_bytes`, without snapshots and
/// with no page that two of them share. 0: not even one. Errors: as PlanEngine.
Result<int64_t> RequestsThatFit(const ModelShape& shape, const EngineOptions& options,
                                int64_t memory_bytes);

/// A benchmark case on paper.
struct Forecast {
  BenchCase bench_case = {};
  BenchWork work = {};        ///< as BenchSession::WorkOf: attention with its bytes alone
  double attention_macs = 0;  ///< what attention multiplies, which grows with depth
  Bound bound = {};           ///< of both: the least time, and what it is bound by
  double operations = 0;      ///< of both: two for each multiply-accumulate
  double intensity = 0;       ///< operations for each byte from memory
  /// The bound; on a machine with measured shares, what its benchmark has taken: the share is that
  /// of `work`, the attention of a short text with it, so that only what depth adds is added.
  double seconds = 0;
  double tokens_per_second = 0;  ///< of all sequences together
};

/// Errors: as PlanEngine; kInvalidArgument for a case without tokens, of negative numbers, or with
/// one above 2^20.
Result<Forecast> ForecastOf(const ModelShape& shape, const EngineOptions& options,
                            const Machine& machine, const BenchCase& bench_case);

}  // namespace skald
