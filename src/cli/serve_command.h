/// `skald serve`: a model behind HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/disk_args.h"
#include "cli/options.h"
#include "cli/speculation_args.h"
#include "cli/trace_file.h"
#include "skald/server.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald serve` was asked to do.
struct ServeOptions {
  ModelArgs model;
  EngineArgs engine;
  SpeculationArgs speculation;
  TraceArgs trace;
  OutputArgs output;  ///< --json: the access log as JSON lines
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  std::optional<std::string> admin_listen;  ///< for monitors, without keys
  std::optional<std::string> api_key_file;
  std::optional<std::string> alias;  ///< what clients call the model
  ModelNames model_names = ModelNames::kOwn;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::optional<Pooling> pooling = {};  ///< what an embedding is made of; none: PoolingFor
  int64_t max_running = 16;
  int64_t max_queued = 256;
  int64_t kv_positions = 0;        ///< 0 = four contexts
  int64_t max_connections = 0;     ///< 0 = as descriptors allow
  int64_t max_buffered_bytes = 0;  ///< 0 = a share of memory
  int64_t drain_seconds = 30;
  DiskArgs disk = {};
  bool receipts = false;  ///< ServerOptions::receipts
  bool ceilings = false;  ///< ServerOptions::ceilings
  bool sandbox = true;    ///< sandbox.h
};

/// Adds the verb; parsing it sets `chosen`.
void AddServeCommand(CLI::App& root, Action& chosen);

/// Loads the model and serves until SIGTERM or Ctrl-C. Errors: those of lookup, loading,
/// Engine::Create and Server::Create; kIo for the key file.
Status Serve(const ServeOptions& options, const Environment& environment, Console& console);

/// A line of the access log: "127.0.0.1 alice POST /v1/completions 200 1234 bytes 0.123 s ...".
std::string AccessLine(const AccessRecord& record, OutputForm form);

}  // namespace skald::cli
