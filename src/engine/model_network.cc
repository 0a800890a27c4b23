#include "engine/model_network.h"

#include <utility>

#include "base/sha256.h"
#include "base/status_macros.h"
#include "engine/sizes.h"

namespace skald::engine {

Result<std::unique_ptr<ModelNetwork>> ModelNetwork::Create(const model::Transformer& network,
                                                           const ResolvedOptions& options,
                                                           std::shared_ptr<ThreadPool> threads,
                                                           ranks::Exchange* exchange) {
  const Sizes sizes = SizesOf(network.network(), options);
  ASSIGN_OR_RETURN(kv::KvStore store, kv::KvStore::Create(sizes.layout, sizes.pages));
  ASSIGN_OR_RETURN(kv::StateStore states, kv::StateStore::Create(sizes.states));
  ASSIGN_OR_RETURN(model::Workspace workspace,
                   model::Workspace::Create(network.network(), sizes.step));
  if (threads == nullptr) threads = std::make_shared<ThreadPool>(options.threads);
  return std::make_unique<ModelNetwork>(network, options,
                                        Parts{std::move(store), std::move(states),
                                              std::move(workspace), std::move(threads), exchange});
}

ModelNetwork::ModelNetwork(const model::Transformer& network, const ResolvedOptions& options,
                           Parts parts)
    : network_(network),
      kernels_(kernels::TableFor(options.isa)),
      pool_(std::move(parts.threads)),
      ropes_(model::RopeTablesOf(network.network(), options.context)),
      store_(std::move(parts.store)),
      states_(std::move(parts.states)),
      workspace_(std::move(parts.workspace)),
      exchange_(parts.exchange) {}

EngineMemory ModelNetwork::memory() const {
  EngineMemory memory = {
      .kv = store_.bytes(), .states = states_.bytes(), .activations = workspace_.bytes()};
  for (const model::RopeTable& table : ropes_) memory.ropes += table.bytes();
  return memory;
}

void ModelNetwork::Forward(const model::StepBatch& batch) {
  const model::Execution execution{kernels_, *pool_, profile_, exchange_};
  network_.Forward(batch, ContextOf(execution));
}

void ModelNetwork::TurnToLogits(int64_t first, int64_t count) {
  const model::Execution execution{kernels_, *pool_, profile_, exchange_};
  network_.TurnToLogits(first, count, ContextOf(execution));
}

void ModelNetwork::TurnDepthToLogits(std::span<const float> rows) {
  const model::Execution execution{kernels_, *pool_, profile_, exchange_};
  network_.TurnDepthToLogits(rows, ContextOf(execution));
}

float ModelNetwork::Score(std::span<const float> state) {
  const model::Execution execution{kernels_, *pool_};
  return model::Score(network_.network().rank_head, state, ContextOf(execution));
}

std::string ModelNetwork::HashResidual(int64_t rows) const {
  Sha256 hash;
  for (int64_t row = 0; row < rows; ++row) {
    hash.Add({reinterpret_cast<const char*>(workspace_.residual.row(row)),
              static_cast<size_t>(network_.network().width) * sizeof(float)});
  }
  return hash.TakeBytes();
}

model::Context ModelNetwork::ContextOf(const model::Execution& execution) {
  return {.store = store_,
          .workspace = workspace_,
          .ropes = ropes_,
          .execution = execution,
          .states = &states_};
}

std::span<const float> ModelNetwork::Logits(int64_t index) const {
  return {workspace_.logits.row(index), static_cast<size_t>(network_.network().vocab)};
}

std::span<const float> ModelNetwork::Hidden(int64_t index) const {
  return {workspace_.normed.row(index),
          static_cast<size_t>(model::HiddenWidth(network_.network()))};
}

}  // namespace skald::engine
