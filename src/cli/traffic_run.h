/// Runs traffic against an engine in this process and keeps the times of every token.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cli/agent_conversation.h"
#include "cli/traffic_workload.h"
#include "skald/engine.h"
#include "skald/status.h"

namespace skald::cli {

/// What one request saw. Seconds of the engine's clock, from Submit.
struct TrafficRecord {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;               ///< of the prompt, at its first admission
  CachedTokens cached_from = {};           ///< where these came from
  std::vector<double> token_seconds = {};  ///< when each token came; empty if none did
  std::vector<TokenId> tokens = {};        ///< the answer
  double finished_seconds = 0;
  FinishReason reason = FinishReason::kStop;
};

/// What happened.
struct TrafficOutcome {
  std::vector<TrafficRecord> records = {};  ///< of the requests that were accepted
  int64_t refused = 0;                      ///< longer than the context or the pool
  double seconds = 0;                       ///< from the first Submit to the last end
  int64_t most_pages_held = 0;  ///< by running requests, looked at every few milliseconds
  EngineStats stats = {};       ///< at the end
};

/// Asked every few milliseconds; false ends the run.
using TrafficGoOn = std::function<bool()>;

/// Submits each request when its time has come and fewer than `max_concurrency` are under way, and
/// waits for all. The engine must be idle. Errors: kCancelled; that of a request that failed.
Result<TrafficOutcome> RunTraffic(Engine& engine, const std::vector<TrafficRequest>& requests,
                                  int64_t max_concurrency, const TrafficGoOn& go_on);

/// A stream alone, then the same stream with a long prompt arriving while it runs.
struct IntruderOutcome {
  TrafficOutcome alone;
  TrafficOutcome disturbed;  ///< records[0] is the stream
  /// Times between tokens of the stream that overlap the computation of the long prompt. None if
  /// the stream had ended when it came.
  std::vector<double> gaps_during;
};

/// `requests`: the stream, then the prompt, which is submitted when a quarter of the stream's
/// tokens are out. Errors: as RunTraffic.
Result<IntruderOutcome> RunIntruder(Engine& engine, const std::vector<TrafficRequest>& requests,
                                    const TrafficGoOn& go_on);

/// What a request of an agent took, see TrafficOutcome::records of the same place.
struct AgentRow {
  int64_t turn = 0;  ///< from 1 on
  AgentStep step = AgentStep::kMessage;
  int64_t new_tokens = 0;  ///< of its prompt: nobody had sent or got them before
};
struct AgentOutcome {
  TrafficOutcome traffic;
  std::vector<AgentRow> rows = {};
  std::vector<TrafficRequest> requests = {};  ///< of each row
};

/// Makes the requests of each turn at once and waits for all of them. Errors: as RunTraffic;
/// kInvalidArgument if the conversation is longer than the context.
Result<AgentOutcome> RunAgent(Engine& engine, AgentConversation conversation,
                              const TrafficGoOn& go_on);

/// Makes the requests of recorded conversations as RunTraffic does; a turn is a request. Errors: as
/// RunTraffic; kInvalidArgument if one of them has no room.
Result<AgentOutcome> RunRecorded(Engine& engine, std::vector<TrafficRequest> requests,
                                 int64_t max_concurrency, const TrafficGoOn& go_on);

/// Makes the requests again, one after the other, each in a cache of its own, where nothing is kept
/// of any other: they must answer as they have. Returns the number of the first that does not.
/// Errors: as RunTraffic.
Result<std::optional<size_t>> FirstThatDiffers(Engine& engine, const AgentOutcome& outcome,
                                               const TrafficGoOn& go_on);

/// Times between the tokens of one request.
std::vector<double> GapsOf(const TrafficRecord& record);
/// Of these, the ones that overlap the time from `from` to `to`.
std::vector<double> GapsBetween(const TrafficRecord& record, double from, double to);

}  // namespace skald::cli
