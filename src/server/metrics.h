/// MetricsText: the state of an engine in the text format of Prometheus.
///
/// Two families with the same numbers: skald_*, and the names of vLLM (old and new), by which
/// routers and dashboards know an engine (docs/server.md). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "skald/engine_stats.h"

namespace skald::server {

/// What the numbers say beside EngineStats.
struct MetricsInput {
  EngineStats stats;
  std::string model_name;
  int64_t connections = 0;
  std::map<int, int64_t> answers = {};  ///< to HTTP requests, by status
};

/// The text, "text/plain; version=0.0.4".
std::string MetricsText(const MetricsInput& input);

}  // namespace skald::server
