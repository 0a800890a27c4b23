/// CallTrees: the calls of a forward pass as a tree, from what the blocks of a network count.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kv/kv_layout.h"
#include "model/network.h"
#include "model/step_log.h"
#include "skald/bench.h"
#include "skald/explain.h"

namespace skald::explain {

class CallTrees {
 public:
  /// Copies what it needs of the network: its norms and tables of positions, and no matrix.
  CallTrees(const model::Network& network, const kv::KvLayout& layout,
            const std::optional<Ceilings>& ceilings);

  /// The tree of a step. A time that belongs to nothing with work stands there all the same, so
  /// that all of them add up.
  Call Of(const model::LoggedStep& step) const;

 private:
  // A part of the step: what it does, and how long that took.
  struct Part;

  std::vector<Part> PartsOf(const model::LoggedStep& step) const;
  Call BlockOf(const Part& part, const model::StepShape& shape) const;
  Call OperationOf(const Part& part, model::Phase phase) const;
  Call MatrixOf(const model::WorkItem& item, int64_t layer) const;
  void SetShapes(const model::StepPart& part, const model::StepShape& shape, Call* block) const;
  std::string NameOf(const model::StepPart& part) const;
  void SetBound(const model::Work& work, Call* call) const;

  model::Network network_;
  kv::KvLayout layout_;
  std::optional<Ceilings> ceilings_;
  std::map<const kernels::PackedMatrix*, std::string> names_;
};

}  // namespace skald::explain
