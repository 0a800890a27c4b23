#include "engine/ask.h"

#include <memory>
#include <thread>
#include <utility>

#include "base/status_macros.h"

namespace skald::engine {

Result<Asked> Ask(Engine& engine, Request request, TranscriptKeeps keeps,
                  const std::function<bool()>& go_on) {
  const auto events = std::make_shared<EventQueue>();
  Transcript answer(request, keeps);
  ASSIGN_OR_RETURN(const RequestId id, engine.Submit(std::move(request), events));
  bool interrupted = false;
  while (!answer.end) {
    if (!interrupted && !go_on()) {
      engine.Cancel(id);
      interrupted = true;
    }
    answer.Add(events->Next());
  }
  RETURN_IF_ERROR(answer.end->status);
  // Whatever the reason of the end: a short answer may be whole before its cancelling is seen, and
  // who asked to stop must not get another result for that.
  if (interrupted) return Status(ErrorCode::kCancelled, "interrupted");
  return Asked{.transcript = std::move(answer), .id = id};
}

EngineStats StatsWhenIdle(const Engine& engine) {
  EngineStats stats = engine.Stats();
  while (stats.requests_running + stats.requests_waiting > 0) {
    std::this_thread::yield();
    stats = engine.Stats();
  }
  return stats;
}

}  // namespace skald::engine
