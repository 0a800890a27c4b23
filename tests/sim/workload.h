/// Workload: an engine's size and the requests it gets, all drawn from one seed.
///
/// Sizes are drawn so that everything that can go wrong is near: few pages, prompts from small
/// trees of common prefixes whose lengths lie around page borders, forks, slow readers, cancels.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/core.h"
#include "engine/request_check.h"
#include "engine/token_chooser.h"

namespace skald::sim {

/// How the reader of a request behaves.
struct Reader {
  int64_t capacity = std::numeric_limits<int64_t>::max();  ///< events it holds unread
  int64_t reads_one_in = 1;  ///< ticks between two times it reads; 0 = never
  int64_t reads_events = std::numeric_limits<int64_t>::max();  ///< that it then takes at most
  int64_t gone_at_event = -1;                                  ///< answers kGone from this event on
  /// Ends each sequence with kEndSequence where its last tokens are these, as a stop string does.
  std::vector<TokenId> stop = {};
};

/// A request and what happens to it from outside.
struct Client {
  Request request;
  double arrives_seconds = 0;
  double cancelled_seconds = std::numeric_limits<double>::infinity();
  Reader reader = {};
  /// The engine fails to choose this token of each of its sequences; -1 = none.
  int64_t fails_at_token = -1;
};

/// Who guesses tokens ahead.
enum class Guessing : uint8_t {
  kNone,
  kNgram,
  kScripted,  ///< the true tokens, some of them changed
  kChain,     ///< n-grams, then the script
  kDraft,     ///< a draft model
  kMixed,     ///< n-grams, then a draft model
  kForced,    ///< what constraints force, and nothing else
};

struct Workload {
  uint64_t seed = 0;
  engine::CoreLimits core;
  int64_t page_count = 0;
  int64_t state_slots = 0;  ///< of running sequences and snapshots; 0: a network without states
  kv::WindowLimits windows = {};  ///< of a network with layers with windows
  Guessing guessing = Guessing::kNone;
  int64_t draft_page_count = 0;  ///< pages of the draft model
  int64_t draft_rows = 0;        ///< rows of its passes
  double row_seconds = 0;        ///< time a row takes
  double draft_row_seconds = 0;  ///< time a row of the draft model takes
  double step_seconds = 0;       ///< time a step takes besides
  engine::MaskRule masks = engine::MaskRule::kWhereItTells;
  bool has_shelf = false;       ///< pages that memory gives up are kept elsewhere (fake_shelf.h)
  std::vector<Client> clients;  ///< in the order of their arrival; all pass CheckRequest

  engine::RequestLimits request_limits() const;
};

Workload DrawWorkload(uint64_t seed);

}  // namespace skald::sim
