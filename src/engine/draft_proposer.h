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

  /// One pass of the draft model for each token guessed, of all sequences together. A prompt that
  /// is longer than a pass gets no guess until the passes of some steps have computed it; nor does
  /// a sequence for which there are no pages.
  void Propose(std::span<const DraftWish> wishes) override;
  void Forget(const Sequence& sequence) override;

  /// For the simulation: the sequence whose copy has this list of pages; null if none has.
  const Sequence* TargetWith(const kv::PageId* pages) const;

 private:
  struct Slot {
    const Sequence* target = nullptr;
    std::unique_ptr<Sequence> copy;
    size_t seen = 0;  // leading tokens of the target that were copied
    // Of the step.
    DraftWish wish;
    int64_t rows = 0;  // in the pass being done
  };

  Slot* SlotOf(const Sequence& target);
  void CatchUp(Slot* slot);
  void BuildPass();
  void Sample(Slot* slot, std::span<const float> logits);
  void FinishPass();

  const DraftParts parts_;
  std::vector<std::unique_ptr<Slot>> slots_;

  // Of the step; members, so that their memory is used again.
  std::vector<Slot*> active_;
  std::vector<kv::PageCopy> copies_;
  std::vector<TokenId> tokens_;
  std::vector<model::SequenceRows> sequence_rows_;
  std::vector<int32_t> logit_rows_;
};

}  // namespace skald::engine
