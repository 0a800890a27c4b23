#include "engine/cache_manager.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;

}  // namespace

kv::Namespace NamespaceOf(const RequestState& request) {
  return kv::Namespace{request.request.cache_namespace};
}

// At least the last token must be computed, for its logits.
int64_t CacheManager::ReusableTokens(const Sequence& sequence) const {
  if (sharing_ == Sharing::kNone) return 0;
  return sequence.request->ReusableTokens(sequence.length());
}

std::span<const TokenId> CacheManager::Matchable(const Sequence& sequence) const {
  return std::span(sequence.tokens).first(static_cast<size_t>(ReusableTokens(sequence)));
}

void CacheManager::Acquire(Sequence* sequence) {
  const kv::Namespace space = NamespaceOf(*sequence->request);
  const auto tokens = Matchable(*sequence);
  sequence->pin = has_states() ? tree_.AcquireState(space, tokens, &sequence->table)
                               : tree_.Acquire(space, tokens, &sequence->table);
  sequence->computed = sequence->pin.tokens();
  if (has_states()) FindPlaces(sequence);
}

// What a preempted sequence finds behind its snapshot is mostly its own: nobody parts there.
void CacheManager::FindPlaces(Sequence* sequence) const {
  sequence->places = {.began = sequence->computed, .last = sequence->computed};
  if (sequence->phase() == Phase::kPreempted) return;
  sequence->places.parts_at = tree_.Match(NamespaceOf(*sequence->request), Matchable(*sequence));
}

bool CacheManager::PrepareWrite(Sequence* sequence, int64_t count,
                                std::vector<kv::PageCopy>* copies) {
  const int64_t from = sequence->computed;
  Evict(PagesToWrite(*sequence, count) - pool_.free_count());
  return sequence->table.PrepareWrite(from, from + count, copies);
}

// With its first rows and not when it is admitted: those that are only looked at have none.
std::optional<kv::StateCopy> CacheManager::PrepareState(Sequence* sequence) {
  if (!has_states() || sequence->state.holds()) return std::nullopt;
  sequence->consumed = sequence->computed;
  std::optional<kv::StateCopy> copy;
  if (sequence->computed > 0) {
    const kv::StateId from = sequence->pin.state();
    CHECK(from != kv::kNoState);
    // Nobody else begins where this one gave up its place: what it left moves back. And where all
    // other slots are taken, one that is alone here takes what there is.
    const bool moves = tree_.IsParked(sequence->pin, sequence->ticket);
    if (moves) sequence->state = tree_.TakeState(&sequence->pin);
    if (!sequence->state.holds()) sequence->state = FreeState();
    if (!sequence->state.holds()) sequence->state = tree_.TakeState(&sequence->pin);
    const kv::StateId to = sequence->state.id();
    if (to != from) copy = kv::StateCopy{.from = from, .to = to};
    sequence->pin.ReleaseState();
  } else {
    sequence->state = FreeState();
  }
  CHECK(sequence->state.holds());
  tree_.Unpark(std::exchange(sequence->ticket, kv::PrefixTree::kNoTicket));
  return copy;
}

std::optional<kv::StateCopy> CacheManager::KeepState(const Sequence& sequence, int64_t tokens) {
  CHECK(sequence.consumed == sequence.computed);
  if (tree_.HasState(sequence.pin)) return std::nullopt;
  kv::StateSlot slot = SlotFor(tokens);
  if (!slot.holds()) return std::nullopt;
  const kv::StateCopy copy = {.from = sequence.state.id(), .to = slot.id()};
  tree_.PutState(sequence.pin, std::move(slot));
  return copy;
}

// For a snapshot that saves `tokens`: none, if all others are worth more.
kv::StateSlot CacheManager::SlotFor(int64_t tokens) {
  kv::StateSlot slot = states_.Take();
  if (slot.holds()) return slot;
  slot = tree_.EvictStateFor(tokens);
  states_evicted_ += int64_t{slot.holds()};
  return slot;
}

kv::StateSlot CacheManager::FreeState() {
  kv::StateSlot slot = states_.Take();
  if (slot.holds()) return slot;
  slot = tree_.EvictState();
  states_evicted_ += int64_t{slot.holds()};
  return slot;
}

int64_t CacheManager::PagesToWrite(const Sequence& sequence, int64_t count) const {
  return sequence.table.PagesToWrite(sequence.computed, sequence.computed + count);
}

// The tree knows one page of several with the same tokens, and keeps it for the pins of all. Who
// has no state yet has no page of its own either, and its pin keeps the snapshot.
void CacheManager::Deduplicate(Sequence* sequence) {
  if (has_states() && !sequence->state.holds()) return;
  // The pages of the tree may have lost their window pages: its own have not.
  if (pool_.windows().exists()) return tree_.Unite(sequence->pin, &sequence->table);
  const int64_t computed = sequence->computed;
  const kv::Namespace space = NamespaceOf(*sequence->request);
  const auto tokens =
      std::span<const TokenId>(sequence->tokens).first(static_cast<size_t>(computed));
  ReleasePages(sequence);
  sequence->pin = tree_.Acquire(space, tokens, &sequence->table);
  sequence->computed = sequence->pin.tokens();
  CHECK(sequence->computed == computed);
}

void CacheManager::Publish(Sequence* sequence, int64_t count) {
  const auto tokens =
      std::span<const TokenId>(sequence->tokens)
          .subspan(static_cast<size_t>(sequence->computed), static_cast<size_t>(count));
  sequence->computed += count;
  if (sharing_ == Sharing::kPrefixes) tree_.Insert(&sequence->pin, tokens, &sequence->table);
  // Behind Insert: what the tree has not, nobody else can need.
  sequence->table.ForgetBehind(sequence->computed);
  // The next turn of a chat goes on behind the prompt where thoughts of the answer are left out.
  const int64_t prompt = sequence->request->prompt_tokens;
  const bool ends_prompt = sequence->computed - count < prompt && sequence->computed >= prompt;
  if (ends_prompt) sequence->table.MarkPlace();
}

void CacheManager::Release(Sequence* sequence) {
  LeaveState(sequence, Leaving::kForGood);
  ReleasePages(sequence);
}

void CacheManager::Park(Sequence* sequence) {
  LeaveState(sequence, Leaving::kComesBack);
  Release(sequence);
}

void CacheManager::Retire(Sequence* sequence) {
  Release(sequence);
  tree_.Unpark(std::exchange(sequence->ticket, kv::PrefixTree::kNoTicket));
}

// A pass may have taken the state on before it is known that the sequence ends (a sibling failed):
// then it is not that of the place where the pin stands, and nobody could say of which.
void CacheManager::LeaveState(Sequence* sequence, Leaving leaving) {
  if (!sequence->state.holds()) return;
  kv::StateSlot state = std::move(sequence->state);
  if (sequence->consumed != sequence->computed || sequence->computed == 0) return;
  if (leaving == Leaving::kComesBack) {
    sequence->ticket = tree_.ParkState(sequence->pin, std::move(state));
  } else {
    tree_.PutState(sequence->pin, std::move(state));
  }
}

void CacheManager::ReleasePages(Sequence* sequence) {
  sequence->pin.Release();
  sequence->table.Truncate(0);
  sequence->computed = 0;
}

std::unique_ptr<Sequence> CacheManager::Fork(Sequence* lead, int32_t index, int64_t context) {
  auto fork = ForkSequence(lead, index, context);
  if (has_states()) {
    fork->state = FreeState();
    CHECK(fork->state.holds());
  }
  return fork;
}

void CacheManager::ForkInto(Sequence* lead, Sequence* fork) {
  CHECK(!has_states());
  CacheManager::Release(fork);
  fork->tokens.assign(lead->tokens.begin(), lead->tokens.end());
  const auto pages = static_cast<size_t>(DivCeil<int64_t>(lead->computed, kernels::kPageTokens));
  lead->table.MarkShared(lead->computed);
  fork->table.Adopt(lead->table.pages().first(pages), lead->computed);
  fork->computed = lead->computed;
  fork->pin = lead->pin.Fork();
  fork->text = lead->text;
}

int64_t CacheManager::Evict(int64_t wanted) {
  const int64_t freed = tree_.Evict(wanted);
  evicted_count_ += freed;
  return freed;
}

// With a table of its own, as a sequence would that computes them. It gives its references back at
// the end: then the pages are cached ones as all others, which anybody who needs them evicts. Most
// of them nobody will see in a window.
int64_t CacheManager::Restore(kv::Namespace space, std::span<const TokenId> tokens, int64_t from,
                              FunctionRef<void(const kv::PageParts&, int64_t)> fill) {
  const auto end = static_cast<int64_t>(tokens.size());
  CHECK(from % kPage == 0 && end % kPage == 0);
  kv::PageTable table(&pool_, end);
  kv::PrefixTree::Pin pin =
      tree_.AcquirePages(space, tokens.first(static_cast<size_t>(from)), &table);
  std::vector<kv::PageCopy> copies;
  while (pin.tokens() >= from && pin.tokens() < end) {
    const int64_t at = pin.tokens();
    Evict(1 - pool_.free_count());
    if (!table.PrepareWrite(at, at + kPage, &copies)) break;
    CHECK(copies.empty());  // it begins at the border of a page
    table.ForgetAll();
    fill(pool_.PartsOf(table.pages().back()), (at - from) / kPage);
    tree_.Insert(&pin, tokens.subspan(static_cast<size_t>(at), static_cast<size_t>(kPage)), &table);
  }
  return pin.tokens();
}

bool CacheManager::RestoreWindow(kv::Namespace space, std::span<const TokenId> tokens,
                                 FunctionRef<void(kv::PageId)> fill) {
  kv::WindowPool& windows = pool_.windows();
  CHECK(windows.exists() && std::ssize(tokens) % kPage == 0);
  const kv::PageId page = tree_.PageOf(space, tokens);
  if (page == kv::kNoPage) return false;
  if (windows.Has(page)) return true;
  if (windows.available_count() == 0) return false;
  windows.Attach(page);
  fill(windows.Of(page));
  windows.MarkPlace(page);
  windows.Leave(page);
  return true;
}

bool CacheManager::RestoreState(kv::Namespace space, std::span<const TokenId> tokens,
                                FunctionRef<void(const kv::PageParts&)> fill_page,
                                FunctionRef<void(kv::StateId)> fill_state) {
  const auto end = static_cast<int64_t>(tokens.size());
  const int64_t whole = end / kPage * kPage;
  const bool is_there = tree_.Match(space, tokens) == end;
  kv::PageTable table(&pool_, end);
  kv::PrefixTree::Pin pin = tree_.AcquirePages(
      space, is_there ? tokens : tokens.first(static_cast<size_t>(whole)), &table);
  if (pin.tokens() < whole) return false;
  if (!is_there && whole < end) {
    std::vector<kv::PageCopy> copies;
    Evict(table.PagesToWrite(whole, end) - pool_.free_count());
    if (!table.PrepareWrite(whole, end, &copies)) return false;
    CHECK(copies.empty());
    fill_page(pool_.PartsOf(table.pages().back()));
    tree_.Insert(&pin, tokens.subspan(static_cast<size_t>(whole)), &table);
  }
  // The tree keeps a page of its own that knows more than the state's, with or without its window.
  if (tree_.Match(space, tokens) < end) return false;
  if (tree_.HasState(pin)) return true;
  // Whoever asked goes on from there, and nobody knows who will from the others.
  kv::StateSlot slot = SlotFor(std::numeric_limits<int64_t>::max());
  if (!slot.holds()) return false;
  fill_state(slot.id());
  tree_.PutState(pin, std::move(slot));
  return true;
}

kv::PrefixTree::Known CacheManager::Look(const Sequence& sequence) const {
  return tree_.Look(NamespaceOf(*sequence.request), Matchable(sequence));
}

int64_t CacheManager::PagesOnlyOf(const Sequence& sequence) const {
  const auto pages = sequence.table.pages();
  return std::count_if(pages.begin(), pages.end(), [this](kv::PageId page) {
    return pool_.reference_count(page) - pool_.cache_references(page) == 1;
  });
}

int64_t CacheManager::Match(const Sequence& sequence) const {
  const kv::Namespace space = NamespaceOf(*sequence.request);
  const auto tokens = Matchable(sequence);
  return has_states() ? tree_.MatchState(space, tokens) : tree_.Match(space, tokens);
}

}  // namespace skald::engine
