/// `skald bench --traffic`: requests through the whole engine, and what each of them waited.
#pragma once

#include <optional>
#include <string>

#include "cli/bench_report.h"
#include "cli/cli11_forward.h"
#include "cli/disk_args.h"
#include "cli/options.h"
#include "cli/trace_file.h"
#include "cli/traffic_workload.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::cli {

/// The flags of the group "Traffic".
struct TrafficOptions {
  bool wanted = false;  ///< --traffic was given
  TrafficShape shape;
  int64_t cache_tokens = 0;  ///< positions of running requests and cache; 0 = enough for all
  DiskArgs disk = {};
  bool compares = false;  ///< FirstThatDiffers, of an agent and of chats
  SpeculationOptions speculation = {};
  TraceFile* trace = nullptr;  ///< takes the record of the engine
};

/// Adds the group to the verb `bench`.
void AddTrafficArgs(CLI::App& app, TrafficOptions& options);

/// --compare where the traffic is no conversation.
Status CompareHasNothing();

/// Runs the traffic once on an engine made for it and prints the report. `header` names model and
/// machine; its ceilings are measured here, before and after. Errors: as MakeTraffic and
/// Engine::Create; kCancelled after Ctrl-C.
Status BenchTraffic(const TrafficOptions& options, const EngineArgs& engine, OutputForm form,
                    const Model& model, BenchHeader header, Console& console);

}  // namespace skald::cli
