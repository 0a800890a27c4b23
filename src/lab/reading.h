/// Reading: one text in one model, step by step, with pages and states of its own, and whatever Lie
/// is told about them.
///
/// A forward pass believes whoever makes its step: positions, pages, states and rotations are
/// arguments. So a fault needs no place in the pass where it could enter; here it is put into the
/// arguments (docs/decisions/0050).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/batch_builder.h"
#include "kernels/kernels.h"
#include "kv/kv_store.h"
#include "kv/state_store.h"
#include "lab/lie.h"
#include "model/transformer.h"
#include "skald/status.h"

namespace skald::lab {

/// What computes, for one reading after the other.
struct Machine {
  kernels::KernelTable kernels;
  std::shared_ptr<ThreadPool> threads;
  kernels::KvTypes kv_types = {};
};

/// One thread at a time.
class Reading {
 public:
  /// Reserves memory for `positions` positions and steps of as many rows. `network` must outlive
  /// it. Errors: kResourceExhausted with the number of bytes.
  static Result<Reading> Create(const model::Transformer& network, const Machine& machine,
                                int64_t positions, Lie lie);

  /// Called with the logits of each row in their order, valid during the call.
  using OnRow = std::function<void(std::span<const float> logits)>;

  /// Computes the next rows, in as many steps as it takes that no step has rows on both sides of
  /// where the lie begins.
  void Append(std::span<const TokenId> tokens, const OnRow& on_row);

  /// Positions that were computed.
  int64_t position() const { return position_; }

 private:
  struct Memory {
    kv::KvStore store;
    kv::StateStore states;
    model::Workspace workspace;
  };
  Reading(const model::Transformer& network, const Machine& machine, int64_t positions, Lie lie,
          Memory memory);

  bool is_lied_to() const { return position_ >= lie_.from && position_ < lie_.until; }
  int64_t NextBorder() const;
  void AtBorder();
  void OverwriteKeys(int64_t position);
  void Step(std::span<const TokenId> tokens, const OnRow& on_row);
  void Forward(const model::SequenceRows& rows, std::span<const TokenId> tokens);

  const model::Transformer* network_;
  std::optional<model::Transformer> unmasked_;  // of Sight::kAll
  Machine machine_;
  Lie lie_;
  std::vector<model::RopeTable> ropes_;
  Memory memory_;
  std::vector<kv::PageId> pages_;        // of the text
  std::vector<kv::PageId> spare_pages_;  // of steps that have forgotten it
  engine::BatchBuilder batch_;
  int64_t position_ = 0;
};

}  // namespace skald::lab
