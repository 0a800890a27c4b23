/// What `skald bench --traffic` prints.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_report.h"
#include "cli/traffic_run.h"

namespace skald::cli {

/// One run of traffic and the least time it can take.
struct TrafficReport {
  BenchHeader header;
  TrafficShape shape;
  TrafficOutcome outcome;                ///< of kIntruder: the disturbed stream
  std::vector<double> gaps_alone = {};   ///< of kIntruder: the stream before
  std::vector<double> gaps_during = {};  ///< of kIntruder
  /// Of kAgent and of recorded conversations, one for each record.
  std::vector<AgentRow> agent_rows = {};
  /// Of these: every answer was made once more where nothing was cached, and is the same.
  bool compared = false;
  /// Arithmetic of what was computed of the prompts, then the answers in full batches, each at its
  /// ceiling; 0 of kIntruder, which is about waiting.
  double bound_seconds = 0;
};

/// The value below which `share` of the samples lie (nearest rank). Requires a sample.
double Quantile(std::vector<double> samples, double share);

/// For people.
std::string TrafficText(const TrafficReport& report);
/// For programs: one object.
std::string TrafficJson(const TrafficReport& report);

}  // namespace skald::cli
