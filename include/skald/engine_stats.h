/// EngineStats: what an engine has done and how it stands, as plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skald/request.h"
#include "skald/version.h"

namespace skald {

/// Counts of durations in buckets that grow by a tenth of a decade: bucket i counts durations below
/// UpperBound(i) that no smaller bucket counts, the last one everything longer.
class Histogram {
 public:
  static constexpr int kBuckets = 81;  ///< from 10 us to 1000 s

  void Add(double seconds);
  int64_t count() const { return count_; }
  double sum_seconds() const { return sum_seconds_; }
  int64_t bucket(int index) const { return buckets_[static_cast<size_t>(index)]; }
  /// Seconds.
  static double UpperBound(int index);
  /// The upper bound of the bucket in which the given share (0 to 1) of the durations ends; 0 if
  /// there are none. At most 26 % above the true quantile.
  double Quantile(double share) const;

 private:
  std::array<int64_t, kBuckets> buckets_ = {};
  int64_t count_ = 0;
  double sum_seconds_ = 0;
};

/// Since the engine was made, unless it says "now".
struct EngineStats {
  int64_t submitted = 0;                                  ///< requests accepted
  int64_t refused = 0;                                    ///< requests that Submit did not take
  std::array<int64_t, kFinishReasonCount> finished = {};  ///< requests, by FinishReason

  int64_t prompt_tokens = 0;         ///< of admitted requests
  int64_t prompt_tokens_cached = 0;  ///< of these, found in the prefix tree
  int64_t prompt_tokens_disk = 0;    ///< of these, brought back from files for the request
  int64_t prefill_rows = 0;          ///< rows of prompts computed, those of resumed requests too
  int64_t output_tokens = 0;
  int64_t constrained_tokens = 0;  ///< of these, of requests with a constraint
  int64_t masks = 0;  ///< made for them, or for guesses: where looking at a few tokens did not tell
  int64_t masks_awaited = 0;  ///< made beside the steps, because a step would have waited long
  int64_t passes = 0;         ///< sequences that a step brought tokens, of all steps: as many as
                              ///< output_tokens without speculation, fewer with it
  int64_t draft_tokens = 0;   ///< guessed and checked
  int64_t draft_tokens_accepted = 0;  ///< of these, right
  int64_t steps = 0;
  int64_t rows = 0;
  int64_t preemptions = 0;
  int64_t displacements = 0;  ///< of these, for a request of higher priority
  int64_t pages_copied = 0;   ///< partly filled pages, because they were shared
  int64_t pages_evicted = 0;  ///< from the prefix tree
  /// Window pages that went to others while the prefix tree still had the rest of their pages.
  int64_t window_pages_dropped = 0;
  // Of a cache on disk (EngineOptions::disk).
  int64_t disk_pages = 0;        ///< that can be found, now
  int64_t disk_bytes = 0;        ///< of all files, now
  int64_t disk_bytes_limit = 0;  ///< DiskCache::Open
  int64_t disk_pages_written = 0;
  int64_t disk_pages_restored = 0;  ///< put back into memory
  int64_t disk_pages_damaged = 0;   ///< found altered, and computed instead
  int64_t disk_pages_lost = 0;      ///< evicted while too many waited to be written
  bool disk_writes = false;         ///< false: none, or the disk is full or broken
  // Of a model with recurrent layers.
  int64_t states_copied = 0;   ///< for a snapshot, from one, or for a fork
  int64_t states_evicted = 0;  ///< snapshots that gave their slots to others

  int64_t running = 0;           ///< sequences with pages, now
  int64_t waiting = 0;           ///< sequences without, now; those preempted among them
  int64_t requests_running = 0;  ///< requests of which a sequence has pages, now
  int64_t requests_waiting = 0;  ///< all others that have not ended, now: at most max_queued come
  int64_t pages_total = 0;
  int64_t pages_free = 0;    ///< now
  int64_t pages_held = 0;    ///< by running sequences, now
  int64_t pages_cached = 0;  ///< by the prefix tree alone, now
  /// Window pages: of layers whose rows see a window, where these have fewer pages than others.
  int64_t window_pages_total = 0;
  int64_t window_pages_free = 0;    ///< now
  int64_t window_pages_held = 0;    ///< by running sequences, now
  int64_t window_pages_cached = 0;  ///< by the prefix tree alone, now
  int64_t states_total = 0;         ///< slots for what recurrent layers carry
  int64_t states_free = 0;          ///< now
  int64_t states_held = 0;          ///< by running sequences, now
  int64_t states_cached = 0;        ///< snapshots in the prefix tree, now

  Histogram queue_seconds;  ///< from Submit to the first admission
  Histogram ttft_seconds;   ///< from Submit to a request's first token
  Histogram tbt_seconds;    ///< between two tokens of a sequence
  Histogram step_seconds;
  // Of requests that have ended, but for those that were cut off (cancelled, deadline, error).
  Histogram e2e_seconds;        ///< from Submit to the end
  Histogram inference_seconds;  ///< from the first admission to the end
  Histogram prefill_seconds;    ///< of that, until the first token (or the embedding)
  Histogram decode_seconds;     ///< and from then on
};

/// Where a request is on its way.
enum class RequestPhase : uint8_t {
  kQueued,     ///< never had pages
  kPrefill,    ///< its prompt is computed
  kDecode,     ///< a sequence of it makes tokens
  kPreempted,  ///< all its sequences wait for pages, after they had some
};

/// "queued", "prefill", "decode", "preempted".
std::string_view RequestPhaseName(RequestPhase phase);

/// A request that has not ended, in numbers.
struct RequestProgress {
  RequestId id = {};
  std::string label = {};  ///< Request::label
  RequestPhase phase = RequestPhase::kQueued;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;    ///< of these, found in the cache at the first admission
  int64_t computed_tokens = 0;  ///< positions whose K and V stand in pages, of all its sequences
  int64_t output_tokens = 0;    ///< of all its sequences
  int64_t pages = 0;            ///< of all its sequences: one that they share counts for each
  int32_t sequences = 0;
  int64_t tenant = 0;            ///< Request::tenant
  double submitted_seconds = 0;  ///< of the engine's clock, as the other two
  std::optional<double> first_token_seconds = {};
  double last_token_seconds = 0;  ///< 0 before the first
};

}  // namespace skald
