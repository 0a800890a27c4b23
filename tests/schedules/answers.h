/// Answers: what a network gives at each position of a few texts, computed in the plainest way:
/// scalar kernels, one thread, one rank, one text after the other, a token a step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/options.h"
#include "engine/runner.h"
#include "kernels/attention/attention.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::schedules {

/// Positions that a text may have: three partitions of attention.
inline constexpr int64_t kContext = 640;
/// Pages and states for all sequences of a schedule and for what moves.
inline constexpr int32_t kPages = 96;
inline constexpr int32_t kStates = 16;

/// Options of a runner for any schedule.
engine::ResolvedOptions OptionsFor(const Model& model, kernels::KvTypes types);

class Answers {
 public:
  /// `model` must outlive it. Errors: those of engine::MakeRunner.
  static Result<Answers> Create(const Model& model, kernels::KvTypes types);

  /// The same of every model but for the size of its vocabulary. The first ones are short.
  const std::vector<std::vector<TokenId>>& texts() const { return texts_; }
  /// Computes what is not yet known of a text: the long one takes longer than many schedules.
  void Prepare(size_t text);
  /// Logits; of a network that takes whole texts, its hidden states. Of a text that was prepared.
  std::span<const float> At(size_t text, int64_t position) const {
    return rows_[text][static_cast<size_t>(position)];
  }
  bool whole_texts() const { return whole_texts_; }
  /// Positions that the model has, kContext at most.
  int64_t context() const { return context_; }

 private:
  std::unique_ptr<engine::Runner> runner_;
  std::vector<std::vector<TokenId>> texts_;
  std::vector<std::vector<std::vector<float>>> rows_;
  bool whole_texts_ = false;
  int64_t context_ = 0;
};

}  // namespace skald::schedules
