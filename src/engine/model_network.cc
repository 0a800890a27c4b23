#include "engine/model_network.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace skald::engine {

Result<std::unique_ptr<ModelNetwork>> ModelNetwork::Create(const model::Transformer& network,
                                                           const ResolvedOptions& options,
                                                           std::shared_ptr<ThreadPool> threads) {
  const int64_t sampled_rows = options.max_running + options.max_draft_rows;
  ASSIGN_OR_RETURN(kv::KvStore store,
                   kv::KvStore::Create(model::KvLayoutOf(network.network(), options.kv_types),
                                       options.page_count));
  ASSIGN_OR_RETURN(kv::StateStore states,
                   kv::StateStore::Create({.floats = model::StateFloatsOf(network.network()),
                                           .slots = options.state_slots}));
  ASSIGN_OR_RETURN(
      model::Workspace workspace,
      model::Workspace::Create(network.network(),
                               {.rows = options.max_rows,
                                .logit_rows = std::max(options.max_logit_rows, sampled_rows),
                                .threads = options.threads}));
  if (threads == nullptr) threads = std::make_shared<ThreadPool>(options.threads);
  return std::make_unique<ModelNetwork>(
      network, options,
      Parts{std::move(store), std::move(states), std::move(workspace), std::move(threads)});
}

ModelNetwork::ModelNetwork(const model::Transformer& network, const ResolvedOptions& options,
                           Parts parts)
    : network_(network),
      kernels_(kernels::TableFor(options.isa)),
      pool_(std::move(parts.threads)),
      ropes_(model::RopeTablesOf(network.network(), options.context)),
      store_(std::move(parts.store)),
      states_(std::move(parts.states)),
      workspace_(std::move(parts.workspace)) {}

void ModelNetwork::Forward(const model::StepBatch& batch) {
  const model::Execution execution{kernels_, *pool_};
  network_.Forward(batch, {.store = store_,
                           .workspace = workspace_,
                           .ropes = ropes_,
                           .execution = execution,
                           .states = &states_});
}

std::span<const float> ModelNetwork::Logits(int64_t index) const {
  return {workspace_.logits.row(index), static_cast<size_t>(network_.network().vocab)};
}

std::span<const float> ModelNetwork::Hidden(int64_t index) const {
  return {workspace_.normed.row(index),
          static_cast<size_t>(model::HiddenWidth(network_.network()))};
}

}  // namespace skald::engine
