/// EnginePlan: EngineOptions with every default filled in, and the memory that an engine of them
/// takes.
///
///     const Result<EnginePlan> plan = Engine::Plan(model, {.max_running = 8});
///     std::cout << plan->context << " positions, " << plan->memory.total() << " bytes\n";
///
/// The engine makes itself by the same rules, so that the plan is what Engine::Create takes, to the
/// byte. Who needs a size that follows from options asks here and computes none of its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "skald/version.h"

namespace skald {

/// Bytes by what they hold. Pages and states are reserved whole and committed as they are first
/// written. Not counted, and small beside these: tokenizer, norms and biases, the prefix tree
/// (about 0.4 KiB a page), lists of requests. The model that guesses ahead, where there is one, is
/// an engine of its own.
struct EngineMemory {
  int64_t weights = 0;      ///< matrices, packed; shared by all engines of a model
  int64_t kv = 0;           ///< pages of K and V
  int64_t states = 0;       ///< of recurrent layers: of running sequences, and snapshots
  int64_t activations = 0;  ///< what the largest step works with
  int64_t ropes = 0;        ///< sines and cosines of all positions

  int64_t total() const { return weights + kv + states + activations + ropes; }
  EngineMemory& operator+=(const EngineMemory& more) {
    weights += more.weights;
    kv += more.kv;
    states += more.states;
    activations += more.activations;
    ropes += more.ropes;
    return *this;
  }
  bool operator==(const EngineMemory&) const = default;
};

/// As EngineOptions, resolved.
struct EnginePlan {
  int64_t context = 0;      ///< positions of the longest request
  int64_t max_chunk = 0;    ///< most prompt tokens of a step
  int64_t max_rows = 0;     ///< rows of the largest step: prompts, running sequences, guesses
  int64_t max_running = 0;  ///< sequences that compute at the same time
  int64_t max_queued = 0;   ///< requests that wait
  int64_t page_count = 0;   ///< pages of K and V
  /// Pages of those layers whose rows see a window: page_count, or fewer, where what rows to come
  /// can see takes fewer.
  int64_t window_page_count = 0;
  int64_t page_positions = 0;  ///< positions of a page
  int64_t state_slots = 0;     ///< for sequences and snapshots; 0 without recurrent layers
  int threads = 0;
  std::string_view isa_name;  ///< "avx512"
  EngineMemory memory;
};

}  // namespace skald
