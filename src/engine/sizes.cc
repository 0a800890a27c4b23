#include "engine/sizes.h"

#include <limits>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

// An eighth of what a signed number of bytes can be: the sum of all parts is one, too.
constexpr uint64_t kMostBytes = uint64_t{1} << 60;

Result<int64_t> Product(std::string_view what, int64_t bytes, int64_t count) {
  const auto product =
      CheckedU64(static_cast<uint64_t>(bytes)).Mul(static_cast<uint64_t>(count)).value();
  if (product && *product <= kMostBytes) return static_cast<int64_t>(*product);
  return Status(ErrorCode::kResourceExhausted,
                std::string(what) + " would be larger than the address space");
}

}  // namespace

Sizes SizesOf(const model::Network& network, const ResolvedOptions& options) {
  return {.layout = model::KvLayoutOf(network, options.kv_types),
          .pages = {.full = options.page_count, .window = options.window_page_count()},
          .states = {.floats = model::StateFloatsOf(network), .slots = options.state_slots},
          .step = {.rows = options.max_rows,
                   .logit_rows = options.max_logit_rows,
                   .threads = options.threads},
          .positions = options.context};
}

Result<EngineMemory> MemoryOf(const model::Network& network, const Sizes& sizes) {
  EngineMemory memory;
  for (const kv::PageGroup group : {kv::PageGroup::kFull, kv::PageGroup::kWindow}) {
    ASSIGN_OR_RETURN(const int64_t bytes, Product("the KV cache", sizes.layout.page_bytes(group),
                                                  sizes.pages.of(group)));
    memory.kv += bytes;
  }
  ASSIGN_OR_RETURN(memory.states,
                   Product("recurrent states", sizes.states.floats * int64_t{sizeof(float)},
                           sizes.states.slots));
  memory.activations = model::Workspace::BytesFor(network, sizes.step);
  for (const model::Rope& rope : network.ropes) {
    memory.ropes += model::RopeTable::BytesFor(rope, sizes.positions);
  }
  return memory;
}

Result<EngineMemory> MemoryOf(std::span<const model::Transformer> parts,
                              const ResolvedOptions& options) {
  const ResolvedOptions of_rank = OfRank(options, std::ssize(parts));
  EngineMemory sum;
  for (const model::Transformer& part : parts) {
    ASSIGN_OR_RETURN(const EngineMemory memory,
                     MemoryOf(part.network(), SizesOf(part.network(), of_rank)));
    sum += memory;
  }
  return sum;
}

Result<EnginePlan> PlanOf(const model::Network& network, const ResolvedOptions& options,
                          int64_t weight_bytes) {
  ASSIGN_OR_RETURN(EngineMemory memory, MemoryOf(network, SizesOf(network, options)));
  memory.weights = weight_bytes;
  return EnginePlan{.context = options.context,
                    .max_chunk = options.max_chunk,
                    .max_rows = options.max_rows,
                    .max_running = options.max_running,
                    .max_queued = options.max_queued,
                    .page_count = options.page_count,
                    .window_page_count = options.window_page_count(),
                    .page_positions = kernels::kPageTokens,
                    .state_slots = options.state_slots,
                    .threads = options.threads,
                    .isa_name = options.isa.name,
                    .memory = memory};
}

}  // namespace skald::engine
