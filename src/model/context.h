/// Context: what a step works with besides the network.
#pragma once

#include <span>

#include "kv/kv_store.h"
#include "kv/state_store.h"
#include "model/execution.h"
#include "model/rope_table.h"
#include "model/workspace.h"

namespace skald::model {

struct Context {
  kv::KvStore& store;                ///< laid out by KvLayoutOf the network
  Workspace& workspace;              ///< made for the network; limits at least the batch
  std::span<const RopeTable> ropes;  ///< its RopeTablesOf; cover every position of the batch
  const Execution& execution;
  kv::StateStore* states = nullptr;  ///< slots of StateFloatsOf the network; nullptr if that is 0
};

}  // namespace skald::model
