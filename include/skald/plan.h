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
#include <string_view>
#include <vector>

#include "skald/bench.h"
#include "skald/engine.h"
#include "skald/machine.h"
#include "skald/model_shape.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// What Engine::Create would make of these options (Engine::Plan, without a model).
Result<EnginePlan> PlanEngine(const ModelShape& shape, const EngineOptions& options);

/// What an engine of these options takes of one rank of `whole`, to the byte: of all ranks it is
/// what Engine::Create takes of the model that is split. `part` is the same shape with the ranks of
/// ShapeOptions. Errors: as PlanEngine.
Result<EnginePlan> PlanRank(const ModelShape& whole, const ModelShape& part,
                            const EngineOptions& options);

/// What stands between ranks: latency of a message and bytes a second of each, assumed.
struct RankLink {
  std::string_view name;
  double latency_seconds = 0;
  double bytes_per_second = 0;
};
/// Shared memory of one machine; networks at nine tenths of their rate, with TCP but for RDMA.
std::vector<RankLink> RankLinks();

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
  /// Of the part of a rank: exchanges with the others, one behind the other, and what they bring.
  int64_t gathers = 0;
  double gathered_bytes = 0;
  Bound bound = {};       ///< of both: the least time, and what it is bound by
  double operations = 0;  ///< of both: two for each multiply-accumulate
  double intensity = 0;   ///< operations for each byte from memory
  /// The bound; on a machine with measured shares what its benchmark lets expect: the root of the
  /// squares of reading and of arithmetic, each by its share, which overlap in part. The shares are
  /// those of `work`, the attention of a short text with it, so that only what depth adds is added.
  double seconds = 0;
  double tokens_per_second = 0;  ///< of all sequences together
};

/// How long `ranks` ranks wait for what a forecast of a part says they exchange, if they compute
/// nothing at that time: a gather takes as many messages one behind the other as doublings make
/// the ranks.
double ExchangeSeconds(const Forecast& part, int ranks, const RankLink& link);

/// Errors: as PlanEngine; kInvalidArgument for a case without tokens, of negative numbers, or with
/// one above 2^20.
Result<Forecast> ForecastOf(const ModelShape& shape, const EngineOptions& options,
                            const Machine& machine, const BenchCase& bench_case);

}  // namespace skald
