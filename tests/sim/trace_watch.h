/// TraceWatch: keeps the books of an engine from the record of its run alone (skald/trace.h), and
/// compares them with the engine's own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.h"
#include "sim/workload.h"
#include "skald/trace.h"

namespace skald::sim {

class TraceWatch {
 public:
  /// All requests of the workload may come at once, and their prompts are told at once.
  explicit TraceWatch(const Workload& workload);

  TraceRing* ring() { return &ring_; }

  /// After a step: takes the events since the last call. What the record says of who runs, of
  /// pages, tokens and counts is what `core` says. Empty: nothing is wrong.
  std::string Check(const engine::Core& core);

 private:
  // As far as the record tells.
  struct Seen {
    bool runs = false;
    int64_t tokens = 0;
    TraceBrought brought = {};  // since it ran last
  };
  using Key = std::pair<uint64_t, int32_t>;  // request, sequence

  void Take(const TraceEvent& event);
  static int64_t TakeBrought(Seen* seen, int64_t cached);
  void TakePages(const TracePages& pages);
  std::string Compare(const engine::Core& core) const;

  TraceRing ring_;
  std::vector<TraceEvent> events_;
  double last_seconds_ = 0;
  std::string wrong_;
  EngineStats stats_;  // counters, from events
  std::map<Key, Seen> sequences_;
  bool planned_ = false;
};

}  // namespace skald::sim
