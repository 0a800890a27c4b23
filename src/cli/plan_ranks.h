/// What `skald plan --ranks` adds: memory of each rank, what ranks exchange, and the time of a step
/// on so many machines.
#pragma once

#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/json_writer.h"
#include "skald/engine_plan.h"
#include "skald/machine.h"
#include "skald/model_shape.h"
#include "skald/plan.h"
#include "skald/status.h"

namespace skald::cli {

/// A test on ranks, each of which has the machine of the plan to itself.
struct RankForecast {
  Forecast first = {};           ///< the first rank's, which receives the most
  double compute_seconds = 0;    ///< of the slowest rank
  double exchange_seconds = 0;   ///< nothing is computed meanwhile
  double seconds = 0;            ///< of both
  double tokens_per_second = 0;  ///< of all sequences together
};

struct RanksReport {
  RankLink link = {};
  std::vector<EngineMemory> memory = {};  ///< by rank; empty: the model is not split
  std::vector<RankForecast> forecasts = {};
};

/// The shape of one rank of those that were asked for.
using FindPart = FunctionRef<Result<ModelShape>(int rank)>;

/// What is to be split, and where.
struct RanksWanted {
  const ModelShape& whole;
  const EngineOptions& engine;
  const Machine& machine;
  RankLink link;
  int ranks;
};

/// Errors: as `find`, PlanRank and ForecastOf.
Result<RanksReport> PlanRanks(const RanksWanted& wanted, const std::vector<BenchCase>& cases,
                              FindPart find);

std::string RanksText(const RanksReport& report);
/// The members "ranks" of an object.
void WriteRanks(const RanksReport& report, JsonWriter& json);

}  // namespace skald::cli
