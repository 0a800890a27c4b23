/// EngineView: what an engine looks like inside at one moment, for people who watch it: the step
/// being computed, requests, the pool page by page, the prefix tree.
///
///     EngineLook look = engine.Look();  // ten times a second, on any thread
///     if (look.view != nullptr && look.view->step.computing)
///       std::cout << look.seconds - look.view->step.began_seconds << " s\n";
///
/// The engine takes a view at the beginning of a step, so that a long one can be seen while it is
/// computed, and only while somebody looks. A view is bounded, whatever the pool, the tree and the
/// queue: pages come in cells, of the tree the widest edges, of the queue its front.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "skald/cache_view.h"
#include "skald/engine_stats.h"
#include "skald/ids.h"
#include "skald/trace.h"
#include "skald/version.h"

namespace skald {

/// Requests without pages that a view has at most; all others are in it.
inline constexpr int64_t kMostViewedWaiting = 64;

/// What a request has in a step.
struct ViewedRows {
  RequestId request = {};
  int64_t rows = 0;
  RowReason reason = RowReason::kDecode;
};

/// What a step computes, as far as its least work depends on it.
struct ViewedWork {
  int64_t rows = 0;
  int64_t sequences = 0;
  int64_t mean_position = 0;  ///< of the first row of each sequence
  int64_t logit_rows = 0;
};

/// A step that begins: what is planned.
struct ViewedStep {
  int64_t number = 0;        ///< counted from 0
  double began_seconds = 0;  ///< of the engine's clock
  bool computing = false;    ///< false: there is nothing to compute, or all readers are slow
  int64_t decode_rows = 0;
  int64_t prompt_rows = 0;
  int64_t guessed_rows = 0;     ///< at most so many, of guesses
  int64_t prompt_budget = 0;    ///< rows that prompts may have in it
  int64_t admitted = 0;         ///< sequences
  int64_t preempted = 0;        ///< sequences that lost their pages for it
  double expected_seconds = 0;  ///< by what steps took before; infinite: not known
  std::vector<ViewedRows> rows = {};
  ViewedWork work = {};  ///< without guesses
};

/// A step that is over.
struct ViewedPast {
  double seconds = 0;  ///< 0: there was none yet
  ViewedWork work = {};
};

struct EngineView {
  double seconds = 0;       ///< when it was taken, of the engine's clock
  double cost_seconds = 0;  ///< that the engine thread has spent on the view before
  EngineStats stats = {};
  ViewedStep step = {};
  ViewedPast last = {};
  std::vector<RequestProgress> requests = {};  ///< by id
  PageMap pages = {};
  PrefixView prefixes = {};
};

/// What Engine::Look gives.
struct EngineLook {
  std::shared_ptr<const EngineView> view = {};  ///< null: none has been taken yet
  double seconds = 0;                           ///< now
  /// Where a step has been computed for long: the requests that have come since.
  std::vector<RequestProgress> arrived = {};
};

}  // namespace skald
