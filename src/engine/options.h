/// EngineOptions with every default filled in and every field checked.
#pragma once

#include <cstdint>
#include <string>

#include "engine/draft_length.h"
#include "kernels/attention/attention.h"
#include "kernels/isa/isa.h"
#include "kv/window_pool.h"
#include "model/network.h"
#include "skald/engine.h"
#include "skald/status.h"

namespace skald::engine {

/// Longest context an engine reserves unless asked for more: 4096 positions of a 7B model are 2 GB
/// of KV.
inline constexpr int64_t kDefaultContext = 4096;
/// That of endless texts: positions cost what the angles of ropes take, 64 MiB for heads of 128.
inline constexpr int64_t kDefaultEndlessContext = 131072;
/// Positions beyond this have rotary angles past what ExactSinCos promises (10^7).
inline constexpr int64_t kMaxContext = int64_t{1} << 23;
/// Rows of one step: beyond some thousands a larger step is no faster, only larger.
inline constexpr int64_t kMaxChunk = 1 << 16;
/// Requests that wait cost their prompts; more than this is a mistake or an attack.
inline constexpr int64_t kMaxQueued = 1 << 20;
/// More snapshots than this are a mistake: looking for the one of least worth looks at all.
inline constexpr int64_t kMaxSnapshots = 1 << 10;

/// Guessed tokens of a step: four tiles of rows. More cost as much as rows of prompts.
inline constexpr int64_t kMaxDraftRows = 64;

/// The same where only forced text is guessed: each row takes a row of logits, whoever comes.
inline constexpr int64_t kMaxForcedRows = 16;

struct ResolvedOptions {
  int64_t context = 0;
  int64_t max_chunk = 0;  ///< prompt rows of a step
  int64_t max_rows = 0;   ///< rows of a step: a chunk, or a row of each running sequence; drafts
  int64_t max_logit_rows = 0;  ///< of a step: a row of each running sequence, and drafts
  int64_t max_running = 0;
  int64_t max_queued = 0;
  int64_t page_count = 0;
  /// Of layers with windows, where these need fewer pages than there are.
  kv::WindowLimits windows = {};
  int64_t window_page_count() const { return windows.pages > 0 ? windows.pages : page_count; }
  /// Of a network with recurrent layers: one for each running sequence, and those for snapshots.
  int64_t state_slots = 0;
  int64_t least_draft = 0;     ///< SpeculationOptions
  int64_t most_draft = 0;      ///< SpeculationOptions; 0: nothing is guessed
  int64_t max_draft_rows = 0;  ///< rows of guessed tokens in a step
  DraftRule drafts = DraftRule::kAll;
  SpeculationRule rule = SpeculationRule::kExact;
  /// The network takes texts whole only (model::NeedsWholeTexts): a step has room for a context.
  bool whole_texts = false;
  double target_seconds = 0;  ///< 0 = follow the time of a step without prefill
  int threads = 0;
  kernels::Isa isa = kernels::ScalarIsa();
  kernels::KvTypes kv_types = {};
};

/// Threads and instruction set alone: what a measurement without a model needs.
struct Hardware {
  int threads = 0;
  kernels::Isa isa = kernels::ScalarIsa();
};

/// 0 threads are all cores; `isa` as in EngineOptions. Errors: as Resolve; an instruction set that
/// does not exist or that this CPU lacks, with those that do.
Result<Hardware> ResolveHardware(int threads, const std::string& isa);

/// The types of the public API as the kernels have them.
kernels::KvTypes KvTypesOf(KvCacheTypes types);

/// Errors: kInvalidArgument if K and V of a layer of `network` cannot have these types.
Status CheckKvTypes(const model::Network& network, kernels::KvTypes types);

/// Errors: kInvalidArgument naming the field, what was found and what is possible.
Result<ResolvedOptions> Resolve(const EngineOptions& options, const model::Network& network);

/// The options of one rank of so many: with its share of the threads, one at least.
ResolvedOptions OfRank(ResolvedOptions options, int64_t count);

}  // namespace skald::engine
