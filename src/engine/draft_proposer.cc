#include "engine/draft_proposer.h"

#include <algorithm>

namespace skald::engine {

void DraftProposer::Propose(std::span<const DraftWish> wishes) {
  active_.clear();
  for (const DraftWish& wish : wishes) {
    Slot* slot = SlotOf(*wish.sequence);
    CatchUp(slot);
    slot->wish = wish;
    active_.push_back(slot);
  }
  while (!active_.empty()) {
    BuildPass();
    if (tokens_.empty()) return;
    parts_.network.Forward(
        {.tokens = tokens_, .sequences = sequence_rows_, .logit_rows = logit_rows_});
    FinishPass();
  }
}

void DraftProposer::Forget(const Sequence& sequence) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const auto& each) { return each->target == &sequence; });
  if (slot == slots_.end()) return;
  parts_.cache.Release((*slot)->copy.get());
  slots_.erase(slot);
}

const Sequence* DraftProposer::TargetWith(const kv::PageId* pages) const {
  for (const auto& slot : slots_) {
    if (slot->copy->table.pages().data() == pages) return slot->target;
  }
  return nullptr;
}

DraftProposer::Slot* DraftProposer::SlotOf(const Sequence& target) {
  for (const auto& slot : slots_) {
    if (slot->target == &target) return slot.get();
  }
  slots_.push_back(std::make_unique<Slot>());
  Slot* slot = slots_.back().get();
  slot->target = &target;
  slot->copy = std::make_unique<Sequence>(target.request, target.index,
                                          kv::PageTable(&parts_.cache.pool(), parts_.context));
  slot->copy->tokens.reserve(static_cast<size_t>(parts_.context) + 1);
  return slot;
}

// Makes the copy's tokens those of the target, and keeps what it has computed of them.
void DraftProposer::CatchUp(Slot* slot) {
  const std::vector<TokenId>& truth = slot->target->tokens;
  Sequence& copy = *slot->copy;
  size_t common = slot->seen;
  const size_t both = std::min(copy.tokens.size(), truth.size());
  while (common < both && copy.tokens[common] == truth[common]) ++common;
  // The row of the last token must be computed, for its logits.
  const auto usable = static_cast<int64_t>(std::min(common, truth.size() - 1));
  const bool is_new = copy.tokens.empty();
  copy.tokens.assign(truth.begin(), truth.end());
  slot->seen = truth.size();
  if (!is_new && copy.computed <= usable) return;
  parts_.cache.Release(&copy);
  parts_.cache.Acquire(&copy);
}

// The next rows of every active sequence: what it lacks, then one row a pass.
void DraftProposer::BuildPass() {
  tokens_.clear();
  sequence_rows_.clear();
  logit_rows_.clear();
  for (Slot* slot : active_) {
    Sequence& copy = *slot->copy;
    const int64_t left = parts_.max_rows - static_cast<int64_t>(tokens_.size());
    slot->rows = std::min(copy.remaining(), left);
    if (slot->rows > 0 && !parts_.cache.PrepareWrite(&copy, slot->rows, &copies_)) slot->rows = 0;
    for (const kv::PageCopy& page : copies_) parts_.network.CopyPage(page);
    copies_.clear();
    if (slot->rows == 0) continue;
    const auto first = copy.tokens.begin() + copy.computed;
    tokens_.insert(tokens_.end(), first, first + slot->rows);
    sequence_rows_.push_back(
        {.row_count = slot->rows, .first_position = copy.computed, .pages = copy.table.pages()});
    if (slot->rows == copy.remaining()) {
      logit_rows_.push_back(static_cast<int32_t>(tokens_.size()) - 1);
    }
  }
}

// Who got no rows, has rows left or has guessed enough is done for this step.
void DraftProposer::FinishPass() {
  int64_t logit_index = 0;
  for (Slot* slot : active_) {
    if (slot->rows == 0) continue;
    parts_.cache.Publish(slot->copy.get(), slot->rows);
    if (slot->copy->remaining() == 0) Sample(slot, parts_.network.Logits(logit_index++));
  }
  std::erase_if(active_, [this](const Slot* slot) {
    return slot->rows == 0 || slot->copy->remaining() != 1 ||
           static_cast<int64_t>(slot->wish.tokens->size()) == slot->wish.most ||
           parts_.chooser.EndOf(*slot->copy).has_value();
  });
}

void DraftProposer::Sample(Slot* slot, std::span<const float> logits) {
  const Result<TokenId> guess = parts_.chooser.Guess(*slot->copy, logits, slot->wish.chances);
  if (!guess.ok()) return;
  slot->copy->tokens.push_back(*guess);
  slot->wish.tokens->push_back(*guess);
}

}  // namespace skald::engine
