#include "engine/options.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"

namespace skald::engine {
namespace {

Status InRange(std::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return Ok();
  return Status(ErrorCode::kInvalidArgument, std::string(field) + " is " + std::to_string(value) +
                                                 ", expected " + std::to_string(low) + " to " +
                                                 std::to_string(high));
}

// "scalar, avx2": those that `wanted` says yes to.
template <typename Wanted>
std::string Names(const Wanted& wanted) {
  std::string names;
  for (const kernels::Isa& isa : kernels::AllIsas()) {
    if (wanted(isa)) names += (names.empty() ? "" : ", ") + std::string(isa.name);
  }
  return names;
}

Result<kernels::Isa> ResolveIsa(const std::string& wanted) {
  if (wanted == "best") return kernels::DetectIsa();
  const std::optional<kernels::Isa> isa = kernels::FindIsa(wanted);
  if (!isa.has_value()) {
    return Status(ErrorCode::kInvalidArgument, "instruction set '" + wanted +
                                                   "' does not exist, expected best, " +
                                                   Names([](const kernels::Isa&) { return true; }));
  }
  if (isa->supported()) return *isa;
  return Status(ErrorCode::kInvalidArgument,
                "this CPU does not have " + wanted + " (" + std::string(isa->cpu_flags) +
                    "), it has " + Names([](const kernels::Isa& one) { return one.supported(); }));
}

kernels::KvType KvTypeOf(KvCacheType type) {
  switch (type) {
    case KvCacheType::kF16: return kernels::KvType::kF16;
    case KvCacheType::kBF16: return kernels::KvType::kBF16;
    case KvCacheType::kF32: return kernels::KvType::kF32;
    case KvCacheType::kQ8: return kernels::KvType::kQ8;
    case KvCacheType::kQ4: return kernels::KvType::kQ4;
  }
  UNREACHABLE();
}

Status ResolveSpeculation(const SpeculationOptions& options, ResolvedOptions* resolved) {
  if (options.kind == Speculation::kOff) {
    resolved->drafts = DraftRule::kConstrained;
    resolved->most_draft = std::clamp<int64_t>(options.max_draft, 0, kMaxForcedRows);
    resolved->max_draft_rows =
        std::min(resolved->most_draft * resolved->max_running, kMaxForcedRows);
    return Ok();
  }
  const bool needs_model =
      options.kind == Speculation::kDraft || options.kind == Speculation::kChain;
  if (needs_model && !options.draft.has_value()) {
    return Status(ErrorCode::kInvalidArgument,
                  "speculation with a draft model needs one, found none");
  }
  RETURN_IF_ERROR(InRange("max draft", options.max_draft, 1, kMaxDraft));
  RETURN_IF_ERROR(InRange("min draft", options.min_draft, 0, options.max_draft));
  resolved->rule = options.rule;
  resolved->least_draft = options.min_draft;
  resolved->most_draft = options.max_draft;
  resolved->max_draft_rows = std::min(options.max_draft * resolved->max_running, kMaxDraftRows);
  return Ok();
}

// What K and V take, or more than there is: KvStore says so.
uint64_t KvBytes(const kv::KvLayout& layout, const ResolvedOptions& resolved) {
  const auto bytes_of = [&](kv::PageGroup group, int64_t pages) {
    return CheckedU64(static_cast<uint64_t>(layout.page_bytes(group)))
        .Mul(static_cast<uint64_t>(pages));
  };
  return bytes_of(kv::PageGroup::kFull, resolved.page_count)
      .Add(bytes_of(kv::PageGroup::kWindow, resolved.window_page_count()))
      .value()
      .value_or(std::numeric_limits<uint64_t>::max());
}

// Half of what K and V take: a snapshot is worth some thousand tokens of these. And a few, however
// little that is: a network may have no K and V at all.
int64_t Snapshots(int64_t wanted_bytes, int64_t state_bytes, uint64_t kv_bytes) {
  constexpr uint64_t kFew = 4;
  if (wanted_bytes >= 0) return std::min(wanted_bytes / state_bytes, kMaxSnapshots);
  const uint64_t snapshots = std::max(kFew, kv_bytes / 2 / static_cast<uint64_t>(state_bytes));
  return static_cast<int64_t>(std::min<uint64_t>(snapshots, kMaxSnapshots));
}

// Pages that hold `positions` consecutive positions at most.
int64_t PagesAcross(int64_t positions) {
  return (positions + kernels::kPageTokens - 2) / kernels::kPageTokens + 1;
}

// So many that sequences that run never lack any: each has its window and its pinned positions, the
// rows of its guesses behind it, and pages that it takes before it gives others back; and the
// rows of a step lie anywhere. What they do not use is for places where others go on, at least one
// page in sixteen. Where pages cost nothing else, because no layer keeps all positions, there are
// as many as texts may be long, not as memory has room for: then no more for places than for who
// runs. None where that is no fewer than there are pages: then all keep all.
kv::WindowLimits WindowsOf(const ResolvedOptions& resolved, const kv::KvLayout& layout) {
  if (layout.window == 0) return {};
  const int64_t each = PagesAcross(layout.window + resolved.most_draft) + 2 +
                       DivCeil<int64_t>(layout.pinned, kernels::kPageTokens);
  const int64_t of_step = resolved.max_rows / kernels::kPageTokens + 1;
  int64_t spare = resolved.page_count / 16;
  const bool only_windows = layout.page_bytes(kv::PageGroup::kFull) == 0;
  if (only_windows) spare = std::min(spare, resolved.max_running * each);
  const int64_t pages = resolved.max_running * each + of_step + spare;
  if (pages >= resolved.page_count) return {};
  return {.pages = pages, .positions = layout.window, .pinned = layout.pinned};
}

}  // namespace

Result<Hardware> ResolveHardware(int threads, const std::string& isa) {
  Hardware hardware;
  RETURN_IF_ERROR(InRange("threads", threads, 0, ThreadPool::kMaxThreads));
  hardware.threads = threads > 0 ? threads : AvailableCores();
  ASSIGN_OR_RETURN(hardware.isa, ResolveIsa(isa));
  return hardware;
}

kernels::KvTypes KvTypesOf(KvCacheTypes types) {
  return {KvTypeOf(types.keys), KvTypeOf(types.values)};
}

Status CheckKvTypes(const model::Network& network, kernels::KvTypes types) {
  if (model::KvLayoutOf(network, types).IsAllowed()) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                "the KV type of keys is " +
                    std::string(types.keys == kernels::KvType::kQ8 ? "q8" : "q4") +
                    ", expected f16, bf16 or f32: this model keeps latents, of which a part is the "
                    "value, and these are not quantized");
}

Result<ResolvedOptions> Resolve(const EngineOptions& options, const model::Network& network) {
  ResolvedOptions resolved;
  RETURN_IF_ERROR(InRange("context", options.context, 0, kMaxContext));
  RETURN_IF_ERROR(InRange("chunk", options.max_chunk, 1, kMaxChunk));
  const int64_t most = network.is_endless ? kDefaultEndlessContext : kDefaultContext;
  resolved.context = options.context > 0 ? options.context : std::min(network.context, most);
  if (network.positions == model::Positions::kLearned) {
    // There is no vector for a position beyond.
    RETURN_IF_ERROR(InRange("context", resolved.context, 1, network.context));
  }
  resolved.whole_texts = model::NeedsWholeTexts(network);
  if (resolved.whole_texts) {
    RETURN_IF_ERROR(
        InRange("context of a model that reads texts whole", resolved.context, 1, kMaxChunk));
  }
  resolved.max_chunk =
      resolved.whole_texts ? resolved.context : std::min(options.max_chunk, resolved.context);
  RETURN_IF_ERROR(InRange("running sequences", options.max_running, 1, kMaxChunk));
  RETURN_IF_ERROR(InRange("queued requests", options.max_queued, 1, kMaxQueued));
  RETURN_IF_ERROR(InRange("KV positions", options.kv_positions, 0, kMaxContext * kMaxChunk));
  if (!(options.target_tbt_seconds >= 0)) {
    return Status(ErrorCode::kInvalidArgument, "the target time between tokens is negative");
  }
  resolved.max_running = options.max_running;
  resolved.max_queued = options.max_queued;
  const int64_t state_bytes = model::StateFloatsOf(network) * int64_t{sizeof(float)};
  RETURN_IF_ERROR(InRange("state memory", options.state_memory, -1, int64_t{1} << 50));
  if (state_bytes == 0 && !resolved.whole_texts) {
    // The state behind a wrong guess cannot be taken back, so recurrent layers get no guesses; and
    // where nothing is generated there is nothing to guess.
    RETURN_IF_ERROR(ResolveSpeculation(options.speculation, &resolved));
  }
  resolved.max_rows = std::max(resolved.max_chunk, resolved.max_running) + resolved.max_draft_rows;
  resolved.max_logit_rows = resolved.max_running + resolved.max_draft_rows;
  resolved.target_seconds = options.target_tbt_seconds;
  // One page more than its positions: a sequence that fills the pool can still copy a shared page.
  const int64_t positions = options.kv_positions > 0 ? options.kv_positions : resolved.context;
  resolved.page_count = DivCeil<int64_t>(positions, kernels::kPageTokens) + 1;
  ASSIGN_OR_RETURN(const Hardware hardware, ResolveHardware(options.threads, options.isa));
  resolved.threads = hardware.threads;
  resolved.isa = hardware.isa;
  resolved.kv_types = KvTypesOf(options.kv_types);
  RETURN_IF_ERROR(CheckKvTypes(network, resolved.kv_types));
  const kv::KvLayout layout = model::KvLayoutOf(network, resolved.kv_types);
  resolved.windows = WindowsOf(resolved, layout);
  if (state_bytes > 0) {
    resolved.state_slots = resolved.max_running +
                           Snapshots(options.state_memory, state_bytes, KvBytes(layout, resolved));
  }
  return resolved;
}

ResolvedOptions OfRank(ResolvedOptions options, int64_t count) {
  options.threads = std::max(1, options.threads / static_cast<int>(count));
  return options;
}

}  // namespace skald::engine

namespace skald {

std::vector<InstructionSet> InstructionSets() {
  std::vector<InstructionSet> sets;
  for (const kernels::Isa& isa : kernels::AllIsas()) {
    sets.push_back({.name = isa.name, .supported = isa.supported()});
  }
  return sets;
}

}  // namespace skald
