/// Networks under any schedule: what the tests of promise 1 on the forward pass share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/kernels.h"
#include "model/transformer.h"
#include "support/random_model.h"

namespace skald::promises {

using Logits = std::vector<std::vector<float>>;  ///< by position

/// How a run is carried out: everything that must not matter.
struct Conditions {
  kernels::Isa isa = kernels::ScalarIsa();
  int threads = 1;
  /// 0: one token at a time, one sequence after the other, pages in order.
  uint32_t schedule_seed = 0;
};

/// A network with its pages and buffers, for 640 positions: three partitions of attention.
class Runner {
 public:
  Runner(const model::Transformer& network, const Conditions& conditions, kernels::KvTypes types);

  void Forward(const model::StepBatch& batch);
  /// The logits of hidden states, into the first rows of LogitRow.
  void TurnToLogits(int64_t first, int64_t count);
  /// In every other schedule logits come by the way of hidden states.
  bool turns() const { return turns_ && !embeds(); }
  /// True of a network that takes whole texts and has hidden states only.
  bool embeds() const { return model::NeedsWholeTexts(network_.network()); }
  std::vector<float> HiddenRow(int64_t row) const;
  std::vector<float> LogitRow(int64_t row) const;
  /// Of a network that ranks.
  float Score(std::span<const float> state);

 private:
  const model::Transformer& network_;
  const bool turns_;
  kernels::KernelTable kernels_;
  ThreadPool pool_;
  std::vector<model::RopeTable> ropes_;
  kv::KvStore store_;
  kv::StateStore states_;
  model::Workspace workspace_;
};

/// The logits of all prompts; of a network that embeds, the hidden states, no prompt cut.
std::vector<Logits> RunAll(const model::Transformer& network, const Conditions& conditions,
                           kernels::KvTypes types,
                           const std::vector<std::vector<TokenId>>& prompts);

std::vector<std::vector<TokenId>> RandomPrompts(const std::vector<size_t>& lengths, int64_t vocab);

/// Compares several random schedules per instruction set with the plain run.
void CheckNetwork(const support::RandomModelSpec& spec, const std::vector<size_t>& lengths,
                  kernels::KvTypes types = kernels::KvType::kF16);

/// Behind the last mixer go on only the rows of which something is wanted, perhaps none; what a
/// recurrent one carries, and what others keep, takes all of them.
void CheckLastRows(const std::function<void(model::Network&)>& change);
void CheckLastMixer(const model::Mixer& mixer);

}  // namespace skald::promises
