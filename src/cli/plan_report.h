/// What `skald plan` prints: tables for people, one JSON object for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/plan_ranks.h"
#include "skald/machine.h"
#include "skald/model_shape.h"
#include "skald/plan.h"

namespace skald::cli {

/// How many requests of a context fit.
struct Capacity {
  int64_t context = 0;
  int64_t requests = 0;
};

/// What K and V of an engine for one request of a context take.
struct ContextBytes {
  int64_t context = 0;
  int64_t kv = 0;
};

/// A plan, computed.
struct PlanReport {
  ShapeInfo shape = {};
  std::string kv_type = {};          ///< "f16"
  std::vector<KvGroup> groups = {};  ///< of that type
  std::vector<ContextBytes> contexts = {};
  EnginePlan engine = {};
  Machine machine = {};
  std::vector<Capacity> capacity = {};  ///< by context, in the machine's memory
  std::vector<Forecast> forecasts = {};
  RanksReport ranks = {};  ///< where the model is split
};

/// Bytes of a position in all groups.
int64_t PositionBytes(const std::vector<KvGroup>& groups);

std::string PlanText(const PlanReport& report);
std::string PlanJson(const PlanReport& report);

}  // namespace skald::cli
