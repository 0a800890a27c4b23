#include "engine/draft_proposer.h"

#include <algorithm>
#include <tuple>

namespace skald::engine {
namespace {

// Of so many steps one is for who has waited longest. Half of them let nobody get guesses where
// prompts come faster than they can be computed; they need them less than prompts need rows.
constexpr int64_t kTurnsOfPatience = 8;

}  // namespace

int64_t DraftProposer::Propose(std::span<const DraftWish> wishes, int64_t catch_up_rows) {
  ++turn_;
  active_.clear();
  behind_.clear();
  for (const DraftWish& wish : wishes) {
    Slot* slot = SlotOf(*wish.sequence);
    slot->wish = wish;
    CopyTokens(slot);
    (IsBehind(*slot) ? behind_ : active_).push_back(slot);
  }
  SortBehind();
  int64_t left = catch_up_rows;
  for (;;) {
    BuildPass(left);
    if (pass_.empty()) break;
    parts_.network.Forward(batch_.batch());
    left -= FinishPass();
  }
  return catch_up_rows - left;
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
  slot->last_turn = turn_;
  slot->copy = std::make_unique<Sequence>(target.request, target.index,
                                          kv::PageTable(&parts_.cache.pool(), parts_.context));
  slot->copy->tokens.reserve(static_cast<size_t>(parts_.context) + 1);
  return slot;
}

// A step brings all that was guessed and one token more.
bool DraftProposer::IsBehind(const Slot& slot) {
  return slot.copy->remaining() > slot.wish.most + 1;
}

// Makes the copy's tokens those of the target, and keeps what it has computed of them.
void DraftProposer::CopyTokens(Slot* slot) {
  const std::vector<TokenId>& truth = slot->target->tokens;
  Sequence& copy = *slot->copy;
  size_t common = slot->seen;
  const size_t both = std::min(copy.tokens.size(), truth.size());
  while (common < both && copy.tokens[common] == truth[common]) ++common;
  // The row of the last token must be computed, for its logits.
  const auto usable = static_cast<int64_t>(std::min(common, truth.size() - 1));
  const bool is_new = copy.tokens.empty();
  copy.tokens.assign(truth.begin(), truth.end());
  copy.text = slot->target->text;
  copy.mu = slot->target->mu;
  slot->seen = truth.size();
  if (!is_new && copy.computed <= usable) return;
  parts_.cache.Release(&copy);
  parts_.cache.Acquire(&copy);
}

// Fewest first brings the most sequences to guesses, and would let a long prompt wait for ever. The
// order is total, because a sort that keeps that of equals takes memory.
void DraftProposer::SortBehind() {
  const bool patient_first = turn_ % kTurnsOfPatience == 0;
  const auto place = [patient_first](const Slot* slot) {
    return std::tuple(patient_first ? slot->last_turn : slot->copy->remaining(),
                      slot->target->request->id, slot->target->index);
  };
  std::sort(behind_.begin(), behind_.end(),
            [&](const Slot* a, const Slot* b) { return place(a) < place(b); });
}

// The sequences of a request have one prompt: who comes behind the first finds it in the tree.
void DraftProposer::FindWhatOthersComputed() {
  std::erase_if(behind_, [this](Slot* slot) {
    Sequence& copy = *slot->copy;
    if (parts_.cache.Match(copy) > copy.computed) {
      parts_.cache.Release(&copy);
      parts_.cache.Acquire(&copy);
    }
    if (IsBehind(*slot)) return false;
    active_.push_back(slot);
    return true;
  });
}

// The next rows of every active sequence: what it lacks, then one row a pass. Behind them those of
// one sequence that catches up.
void DraftProposer::BuildPass(int64_t catch_up_rows) {
  batch_.Clear();
  pass_.clear();
  std::erase_if(active_, [this](Slot* slot) { return !AddRows(slot, slot->copy->remaining()); });
  while (!behind_.empty() && catch_up_rows > 0) {
    Slot* first = behind_.front();
    if (AddRows(first, std::min(catch_up_rows, first->copy->remaining()))) break;
    behind_.erase(behind_.begin());
  }
}

// Up to `most` rows, none if the pass is full. False if there are no pages for them.
bool DraftProposer::AddRows(Slot* slot, int64_t most) {
  Sequence& copy = *slot->copy;
  slot->rows = std::min(most, parts_.max_rows - batch_.row_count());
  if (slot->rows == 0) return true;
  if (!parts_.cache.PrepareWrite(&copy, slot->rows, &copies_)) return false;
  for (const kv::PageCopy& page : copies_) parts_.network.CopyPage(page);
  copies_.clear();
  batch_.Add({.first_position = copy.computed, .pages = copy.table.pages()},
             std::span(copy.tokens)
                 .subspan(static_cast<size_t>(copy.computed), static_cast<size_t>(slot->rows)));
  if (slot->rows == copy.remaining()) batch_.WantLogits(batch_.row_count() - 1, 1);
  pass_.push_back(slot);
  return true;
}

// Who has guessed enough is done for this step. Returns the rows of the one that catches up.
int64_t DraftProposer::FinishPass() {
  int64_t logit_index = 0;
  for (Slot* slot : pass_) {
    parts_.cache.Publish(slot->copy.get(), slot->rows);
    if (slot->copy->remaining() == 0) Sample(slot, parts_.network.Logits(logit_index++));
  }
  int64_t caught_up = 0;
  if (!behind_.empty() && pass_.back() == behind_.front()) {
    caught_up = behind_.front()->rows;
    behind_.front()->last_turn = turn_;
    FindWhatOthersComputed();
  }
  std::erase_if(active_, [this](const Slot* slot) {
    return slot->copy->remaining() == 0 ||
           static_cast<int64_t>(slot->wish.tokens->size()) == slot->wish.most ||
           parts_.chooser.EndOf(*slot->copy).has_value();
  });
  return caught_up;
}

void DraftProposer::Sample(Slot* slot, std::span<const float> logits) {
  const Result<TokenId> guess = parts_.chooser.Guess(*slot->copy, logits, slot->wish.chances);
  if (!guess.ok()) return;
  slot->copy->tokens.push_back(*guess);
  if (!parts_.chooser.Follow(slot->copy.get()).ok()) return slot->copy->tokens.pop_back();
  slot->wish.tokens->push_back(*guess);
}

}  // namespace skald::engine
