/// DraftProposer: a smaller model guesses what a larger one will say (Leviathan et al. 2023, "Fast
/// inference from transformers via speculative decoding"; Chen et al. 2023).
///
/// It keeps a copy of each sequence with pages of its own: they come from a pool of the draft
/// model's, because a page of it has other bytes, with a prefix tree of its own, so that prompts
/// are shared here too. A guess is sampled with the parameters and the random numbers of the
/// request, so that both models take the same token wherever their distributions are close.
///
/// A wrong guess costs no clean-up: what the draft computed of it is true of the tokens it
/// computed, and stays in its tree. The copy lets go and matches the right tokens anew.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/batch_builder.h"
#include "engine/cache_manager.h"
#include "engine/network.h"
#include "engine/proposer.h"
#include "engine/token_chooser.h"

namespace skald::engine {

/// What a draft works with: the network of the draft model, the pages that network has, and a
/// chooser for its vocabulary, which is the target's. All outlive the proposer.
struct DraftParts {
  Network& network;
  CacheManager& cache;
  TokenChooser& chooser;
  int64_t max_rows = 0;  ///< of a pass of the network
  int64_t context = 0;   ///< positions of a sequence
};

class DraftProposer : public Proposer {
 public:
  explicit DraftProposer(const DraftParts& parts) : parts_(parts) {}

  /// One pass of the draft model for each token guessed, of all sequences together. A copy that
  /// lacks no more rows than there are tokens in a step, one more than guessed, follows its text. A
  /// copy that lacks more is behind: it gets no guess until it has caught up, at most
  /// `catch_up_rows` rows a step for all that are behind. They go to the one that lacks fewest, in
  /// one step of eight to the one that has waited longest. So a step has at most `catch_up_rows`
  /// rows and twice as many as tokens are wanted. Nor is there a guess where there are no pages.
  int64_t Propose(std::span<const DraftWish> wishes, int64_t catch_up_rows) override;
  void Forget(const Sequence& sequence) override;

  /// For the simulation: the sequence whose copy has this list of pages; null if none has.
  const Sequence* TargetWith(const kv::PageId* pages) const;

 private:
  struct Slot {
    const Sequence* target = nullptr;
    std::unique_ptr<Sequence> copy;
    size_t seen = 0;        // leading tokens of the target that were copied
    int64_t last_turn = 0;  // in which it came, or was behind and had rows
    // Of the step.
    DraftWish wish;
    int64_t rows = 0;  // in the pass being done
  };

  static bool IsBehind(const Slot& slot);
  Slot* SlotOf(const Sequence& target);
  void CopyTokens(Slot* slot);
  void SortBehind();
  void FindWhatOthersComputed();
  void BuildPass(int64_t catch_up_rows);
  bool AddRows(Slot* slot, int64_t most);
  int64_t FinishPass();
  void Sample(Slot* slot, std::span<const float> logits);

  const DraftParts parts_;
  std::vector<std::unique_ptr<Slot>> slots_;
  int64_t turn_ = 0;

  // Of the step; members, so that their memory is used again.
  std::vector<Slot*> active_;  // follow their texts, and want more guesses
  std::vector<Slot*> behind_;  // in the order in which they have rows
  std::vector<Slot*> pass_;    // have rows in the pass being done
  std::vector<kv::PageCopy> copies_;
  BatchBuilder batch_;
};

}  // namespace skald::engine
