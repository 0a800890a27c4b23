/// TraceFile: the record of a run (skald/trace.h) on its way to a file, and the flags that ask for
/// one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/thread.h"
#include "cli/cli11_forward.h"
#include "cli/console.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/status.h"
#include "skald/trace.h"

namespace skald::cli {

/// --trace, --trace-probs
struct TraceArgs {
  std::optional<std::string> path = {};
  TraceOptions ring = {};
};
void AddTraceArgs(CLI::App& app, TraceArgs& args);

/// A file that lines are appended to as events come. Its owner alone can read it. What cannot be
/// written ends the record with one warning and nothing else. It must outlive the engine whose
/// record it is: what is left is written when it ends.
class TraceFile {
 public:
  /// Creates the file, or empties it; none if `args` asks for none. Errors: kIo with the path and
  /// the system's reason.
  static Result<std::unique_ptr<TraceFile>> Create(const TraceArgs& args, Console& console);
  TraceFile(std::string path, int descriptor, const TraceOptions& options, Console& console);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// For EngineOptions::trace, or for who appends in an engine's place.
  const std::shared_ptr<TraceRing>& ring() const { return ring_; }

  /// Writes the first line, with the name of the CPU, and from now on what comes. Texts are those
  /// of the tokens of `model`.
  void Start(TraceHeader header, const Model& model);

 private:
  void Main();
  void WriteEvents();
  void Write(const std::string& lines);
  void Fail(const std::string& reason);
  std::vector<std::string> TextsOf(const TraceEvent& event) const;

  const std::string path_;
  const std::string cpu_;  // read at once: a server may have no right to, later
  const int descriptor_;
  Console& console_;
  std::shared_ptr<TraceRing> ring_;
  std::optional<Model> model_;
  bool failed_ = false;
  int64_t written_bytes_ = 0;       // whole lines
  int64_t said_lost_ = 0;           // events, in lines
  double last_seconds_ = 0;         // of an event
  std::vector<TraceEvent> events_;  // of one round

  std::mutex mutex_;
  std::condition_variable ending_;
  bool stop_ = false;
  std::optional<Thread> thread_;  // last: starts when all else is there
};

/// The first line of a record, but for the CPU: what does not depend on what runs the model.
/// `command`: "run".
TraceHeader TraceHeaderOf(const std::string& command, const Model& model);

/// The same, with what `engine` says of itself.
TraceHeader TraceHeaderOf(const std::string& command, const Model& model, const Engine& engine,
                          const EngineOptions& options);

}  // namespace skald::cli
