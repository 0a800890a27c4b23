#include "skald/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "engine/bench_work.h"
#include "engine/options.h"
#include "engine/sizes.h"
#include "model/network.h"

namespace skald {
namespace {

Status CheckCase(const BenchCase& wanted) {
  constexpr int64_t kMost = int64_t{1} << 20;  // of each: sums and products stay far from overflow
  for (const int64_t number :
       {wanted.prompt_tokens, wanted.decode_tokens, wanted.batch - 1, wanted.depth}) {
    if (number >= 0 && number <= kMost) continue;
    return Status(ErrorCode::kInvalidArgument, "a case with " + std::to_string(number) +
                                                   " tokens or sequences, expected at most " +
                                                   std::to_string(kMost));
  }
  // They are counted chunk by chunk and step by step.
  if (wanted.prompt_tokens * wanted.batch > kMost) {
    return Status(ErrorCode::kInvalidArgument,
                  "a case with more than " + std::to_string(kMost) + " tokens of prompts");
  }
  if (wanted.prompt_tokens > 0 || wanted.decode_tokens > 0) return Ok();
  return Status(ErrorCode::kInvalidArgument, "a case without tokens to compute");
}

// What `work` takes by the measured shares. Reading and arithmetic overlap in part: near the ridge
// a step takes longer than either and less than both together. The root of the sum of squares is
// what measurements are nearest to (docs/log-first-weeks.md, 2026-11-25).
double SecondsOf(const BenchWork& work, const Machine& machine) {
  BenchWork arithmetic = work;
  arithmetic.bytes = 0;
  const double reading = work.bytes / machine.ceilings.read_bytes_per_second;
  return std::hypot(reading / machine.memory_share,
                    BoundOf(arithmetic, machine.ceilings).seconds / machine.arithmetic_share);
}

// Everything that follows from work and attention; `short_macs` is the attention without depth.
void AddTimes(const Machine& machine, double short_macs, Forecast* forecast) {
  BenchWork both = forecast->work;
  both.float_macs += forecast->attention_macs;
  forecast->bound = BoundOf(both, machine.ceilings);
  forecast->operations = 2 * (both.int8_macs + both.bfloat16_macs + both.float_macs);
  forecast->intensity = forecast->operations / both.bytes;
  const BenchCase& wanted = forecast->bench_case;
  const double added =
      (forecast->attention_macs - short_macs) / machine.ceilings.float_macs_per_second;
  forecast->seconds = forecast->bound.seconds;
  if (machine.HasShares()) {
    forecast->seconds = std::max(forecast->seconds, SecondsOf(forecast->work, machine) + added);
  }
  const int64_t tokens = wanted.batch * (wanted.prompt_tokens + wanted.decode_tokens);
  forecast->tokens_per_second = static_cast<double>(tokens) / forecast->seconds;
}

}  // namespace

Result<EnginePlan> PlanEngine(const ModelShape& shape, const EngineOptions& options) {
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved,
                   engine::Resolve(options, shape.network()));
  return engine::PlanOf(shape.network(), resolved, shape.info().weight_bytes);
}

Result<EnginePlan> PlanRank(const ModelShape& whole, const ModelShape& part,
                            const EngineOptions& options) {
  // All ranks have as many pages and slots as the whole network would.
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved,
                   engine::Resolve(options, whole.network()));
  return engine::PlanOf(part.network(), engine::OfRank(resolved, part.info().ranks),
                        part.info().weight_bytes);
}

std::vector<RankLink> RankLinks() {
  constexpr double kBytesOfGigabit = 0.9 * 1e9 / 8;
  return {{"shared-memory", 2e-6, 5e9},
          {"100gbe-rdma", 5e-6, 100 * kBytesOfGigabit},
          {"25gbe", 25e-6, 25 * kBytesOfGigabit},
          {"10gbe", 30e-6, 10 * kBytesOfGigabit},
          {"1gbe", 50e-6, kBytesOfGigabit}};
}

double ExchangeSeconds(const Forecast& part, int ranks, const RankLink& link) {
  const auto messages = static_cast<double>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  return static_cast<double>(part.gathers) * messages * link.latency_seconds +
         part.gathered_bytes / link.bytes_per_second;
}

Result<int64_t> RequestsThatFit(const ModelShape& shape, const EngineOptions& options,
                                int64_t memory_bytes) {
  ASSIGN_OR_RETURN(const EnginePlan one, PlanEngine(shape, options));
  const auto fits = [&](int64_t requests) {
    EngineOptions sized = options;
    sized.max_running = requests;
    sized.state_memory = 0;
    // Each has pages of its own, the last one not full.
    const int64_t positions = DivCeil(one.context, one.page_positions) * one.page_positions;
    sized.kv_positions = requests * positions;
    const Result<EnginePlan> plan = PlanEngine(shape, sized);
    return plan.ok() && plan->memory.total() <= memory_bytes;
  };
  int64_t least = 0;
  int64_t beyond = engine::kMaxChunk + 1;  // as many as an engine runs, and one
  while (beyond - least > 1) {
    const int64_t middle = least + (beyond - least) / 2;
    (fits(middle) ? least : beyond) = middle;
  }
  return least;
}

Result<Forecast> ForecastOf(const ModelShape& shape, const EngineOptions& options,
                            const Machine& machine, const BenchCase& bench_case) {
  RETURN_IF_ERROR(CheckCase(bench_case));
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved,
                   engine::Resolve(options, shape.network()));
  // A benchmark has room for its own case, so no context cuts its chunks (BenchSession::Create).
  const int64_t positions = bench_case.depth + bench_case.prompt_tokens + bench_case.decode_tokens;
  const int64_t chunk = resolved.whole_texts ? positions : std::min(options.max_chunk, positions);
  const kv::KvLayout layout = model::KvLayoutOf(shape.network(), resolved.kv_types);
  const auto count = [&](const BenchCase& wanted) {
    return engine::WorkOf(shape.network(), {.layout = layout, .max_chunk = chunk}, wanted);
  };
  const model::StepWork work = count(bench_case);
  Forecast forecast = {.bench_case = bench_case};
  forecast.work = engine::PublicWork(model::Essential(work));
  forecast.gathers = work.gathered().gathers;
  forecast.gathered_bytes = static_cast<double>(work.gathered().bytes);
  forecast.attention_macs = work[model::Phase::kAttention].float_macs;
  BenchCase short_text = bench_case;
  short_text.depth = 0;
  AddTimes(machine, count(short_text)[model::Phase::kAttention].float_macs, &forecast);
  return forecast;
}

}  // namespace skald
