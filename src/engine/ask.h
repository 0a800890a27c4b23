/// Ask: a request, the whole of its answer, and what it took.
#pragma once

#include <functional>

#include "skald/engine.h"
#include "skald/request.h"
#include "skald/status.h"
#include "skald/transcript.h"

namespace skald::engine {

/// An answer that has come to its end.
struct Asked {
  Transcript transcript;
  RequestId id = {};
};

/// Submits `request` and reads its events to the end. `go_on` is asked before each; false cancels.
/// Errors: as Submit; what the request ended with; kCancelled.
Result<Asked> Ask(Engine& engine, Request request, TranscriptKeeps keeps,
                  const std::function<bool()>& go_on);

/// Statistics once nobody is left: an answer ends inside of a step, whose counts are there when it
/// is over. Waits for it.
EngineStats StatsWhenIdle(const Engine& engine);

}  // namespace skald::engine
