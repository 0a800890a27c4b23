/// DraftModel: the engine's own DraftProposer with a draft model that hashes, and an eye on it.
///
/// A guess can be wrong without a trace in any answer; so each is compared with what the draft
/// model says of the tokens alone.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/draft_proposer.h"
#include "sim/fake_network.h"
#include "support/virtual_clock.h"

namespace skald::sim {

/// What a draft model works with.
struct DraftModelSpec {
  int64_t page_count = 0;
  int64_t max_rows = 0;  ///< of a pass
  int64_t context = 0;
  Fault fault = Fault::kNone;  ///< only those of a draft model act
  /// What its rows take on this clock; none: nothing.
  support::VirtualClock* clock = nullptr;
  double row_seconds = 0;
};

class DraftModel : public engine::Proposer {
 public:
  explicit DraftModel(const DraftModelSpec& spec);

  int64_t Propose(std::span<const engine::DraftWish> wishes, int64_t catch_up_rows) override;
  void Forget(const engine::Sequence& sequence) override { proposer_.Forget(sequence); }

  /// Empty if all is well with guesses, pool and tree, else what is wrong.
  std::string Check() const;
  /// The same when every sequence has ended: no page is held.
  std::string CheckEnd();
  /// Rows computed so far.
  int64_t rows() const { return rows_; }

 private:
  void CheckGuess(const engine::DraftWish& wish);
  void CheckRows(std::span<const engine::DraftWish> wishes, int64_t catch_up_rows);

  const DraftModelSpec spec_;
  std::vector<kv::PageId> freed_;
  FakeDraftNetwork network_;
  engine::CacheManager cache_;
  engine::TokenChooser chooser_;
  engine::DraftProposer proposer_;
  int64_t rows_ = 0;
  std::string wrong_;
};

}  // namespace skald::sim
