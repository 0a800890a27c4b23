/// Network: what the engine needs of a model. Tokens and pages in, logits or hidden states out.
///
/// Runners (runner.h) compute, the one of the simulation (tests/sim) hashes what stands in the
/// pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kv/kv_layout.h"
#include "kv/page_id.h"
#include "kv/state_id.h"
#include "model/step_batch.h"
#include "skald/status.h"

namespace skald::engine {

/// The first so many pages and state slots.
struct FirstPlaces {
  int64_t pages = 0;
  int64_t states = 0;
};

/// Called by the engine thread only.
class Network {
 public:
  virtual ~Network() = default;

  /// Copies the front of a page that a sequence shared and now writes.
  virtual void CopyPage(const kv::PageCopy& copy) = 0;

  /// Bytes of a page in the layers of a group.
  virtual int64_t PageBytes(kv::PageGroup group) const = 0;
  /// Of those parts of a page that are named.
  int64_t BytesOf(const kv::PageParts& parts) const {
    return (parts.full == kv::kNoPage ? 0 : PageBytes(kv::PageGroup::kFull)) +
           (parts.window == kv::kNoPage ? 0 : PageBytes(kv::PageGroup::kWindow));
  }
  /// These parts themselves, BytesOf(parts) bytes, for a tier behind memory (engine/page_tier.h): a
  /// page that was loaded has the bits of the one saved.
  virtual void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) = 0;
  virtual void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) = 0;

  /// The same of states, of which `bytes` are those from `begin` on.
  virtual int64_t StateBytes() const = 0;
  virtual void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) = 0;
  virtual void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) = 0;

  /// Copies a state to a sequence that forks. For networks that have states.
  virtual void CopyState(const kv::StateCopy& copy) = 0;

  /// Has the system give memory to a little more of the first pages and state slots, which steps
  /// would otherwise wait for when they first touch it. False: there is nothing to do.
  virtual bool CommitNext(const FirstPlaces& wanted) {
    static_cast<void>(wanted);
    return false;
  }

  /// One forward pass: writes K and V of every row, takes the states of all sequences behind their
  /// last rows, computes the logits of batch.logit_rows and the hidden states of batch.hidden_rows.
  virtual void Forward(const model::StepBatch& batch) = 0;

  /// Logits of batch.logit_rows[index] of the last Forward; valid until the next.
  virtual std::span<const float> Logits(int64_t index) const = 0;

  /// Hidden state of batch.hidden_rows[index] of the last Forward; valid until the next.
  virtual std::span<const float> Hidden(int64_t index) const = 0;

  /// Makes logits of `count` hidden states of the last Forward, from batch.hidden_rows[first] on:
  /// Logits gives these from now on, by the index from `first`. They have the bits that they would
  /// have in batch.logit_rows. `count` is at most the logit rows that a step may have; what Hidden
  /// gives stays. For networks that generate.
  virtual void TurnToLogits(int64_t first, int64_t count) = 0;

  /// The score of a pair of texts whose hidden states were pooled to `state`, by a network that
  /// ranks. What Logits and Hidden give stays.
  virtual float Score(std::span<const float> state) = 0;

  /// Why nothing that it has given since the last step can be used, nor anything that it will: one
  /// of the processes that compute it together is gone. To be asked behind each of the calls above
  /// whose numbers matter. kUnavailable, for good.
  virtual Status Lost() const { return Ok(); }
};

}  // namespace skald::engine
