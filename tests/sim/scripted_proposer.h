/// ScriptedProposer: guesses the tokens that will come, but for some.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "engine/proposer.h"
#include "sim/oracle.h"
#include "sim/seeded.h"
#include "sim/workload.h"

namespace skald::sim {

class ScriptedProposer : public engine::Proposer {
 public:
  /// `sampler` is for kVocab tokens. Of the tokens guessed, one in `wrong_one_in` is wrong.
  ScriptedProposer(const Workload& workload, int64_t wrong_one_in, sampling::Sampler* sampler)
      : workload_(workload), wrong_one_in_(wrong_one_in), sampler_(*sampler), draw_(0) {}

  int64_t Propose(std::span<const engine::DraftWish> wishes, int64_t) override;
  void Forget(const engine::Sequence&) override {}

 private:
  const Workload& workload_;
  const int64_t wrong_one_in_;
  sampling::Sampler& sampler_;
  Seeded draw_;
  std::map<std::pair<uint64_t, int32_t>, Answer> answers_;  // by request and sequence
};

}  // namespace skald::sim
