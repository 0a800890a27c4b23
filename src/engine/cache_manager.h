/// CacheManager: the pages of all sequences, running and gone: pool, page tables and prefix tree
/// behind the few verbs a step needs, and the state slots of those that run.
///
/// After each step the tokens computed in it are in the tree, so a sequence that ends or is
/// preempted only lets go: what it computed stays cached until eviction needs the pages.
///
/// A network whose layers carry a state can go on only from where one stands. A sequence that lets
/// go leaves its own in the tree, behind exactly the tokens it has consumed, and whoever comes, or
/// comes back, goes on from the last such snapshot on its way. K and V behind that place may
/// stand in the tree already: the rows are computed again for their state's sake, into pages of the
/// sequence's own, so that nobody writes what others see; Deduplicate gives those back.
///
/// Layers with windows keep what rows to come can see (kv/window_pool.h): behind a step, what has
/// fallen out of the window of a sequence is there for others only. A match ends where all that its
/// next row sees is there; what is computed again goes into pages of the sequence's own, as above.
///
/// Slots never run out: each is of a sequence that runs, of a snapshot, or free; a snapshot that
/// nobody is about to go on from can be evicted; and there are as many slots as sequences can run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "engine/request_state.h"
#include "kv/page_pool.h"
#include "kv/prefix_tree.h"

namespace skald::engine {

/// Whether a sequence that lets go will ask for what it leaves.
enum class Leaving : uint8_t { kForGood, kComesBack };

/// Whether what is computed of a text serves other texts that begin alike.
enum class Sharing : uint8_t {
  kPrefixes,
  kNone,  ///< what a row leaves depends on rows behind it: nothing is put into the tree, or matched
};

/// The verbs are virtual for the simulation, which plants faults.
class CacheManager {
 public:
  /// `state_slots`: at least as many as sequences can hold at a time, or 0 for a network without
  /// states. What they do not hold is for snapshots.
  explicit CacheManager(int64_t page_count, int64_t state_slots = 0,
                        Sharing sharing = Sharing::kPrefixes, const kv::WindowLimits& windows = {})
      : pool_(page_count, windows),
        states_(state_slots),
        tree_(&pool_, state_slots),
        sharing_(sharing) {}
  virtual ~CacheManager() = default;
  CacheManager(const CacheManager&) = delete;
  CacheManager& operator=(const CacheManager&) = delete;

  /// Gives a sequence without pages those of the longest cached prefix of its reusable tokens from
  /// which it can go on: all but the last one, whose logits are wanted, or (pooling) fewer.
  virtual void Acquire(Sequence* sequence);

  /// Makes the next `count` positions writable, evicting cached pages if need be. Copies that must
  /// be carried out before anything else is asked are appended. False, with nothing changed but
  /// what was evicted, if there are not enough pages.
  [[nodiscard]] virtual bool PrepareWrite(Sequence* sequence, int64_t count,
                                          std::vector<kv::PageCopy>* copies);

  /// Gives a sequence of a network with states a slot, if it has none. Returns the copy that makes
  /// of it the state behind its computed tokens, to be carried out before anything else is asked;
  /// none for position 0, and for one that takes back what it left itself.
  virtual std::optional<kv::StateCopy> PrepareState(Sequence* sequence);

  /// Leaves a copy of the state of `sequence` in the tree, behind its computed tokens, if the place
  /// is worth more than those of other snapshots: `tokens` more would be computed without it.
  /// Returns the copy that must be carried out before anything else is asked; none if there is no
  /// slot for it, or a snapshot already.
  std::optional<kv::StateCopy> KeepState(const Sequence& sequence, int64_t tokens);

  /// A slot that nobody runs with, if need be that of a snapshot.
  kv::StateSlot FreeState();

  /// Pages that PrepareWrite would take.
  int64_t PagesToWrite(const Sequence& sequence, int64_t count) const;

  /// Two sequences that compute the same tokens side by side have pages of their own: this gives
  /// back those whose tokens stand in another's, and what PrepareWrite prepared. Where there are
  /// window pages, whole ones alone: one of both stays, that with its window page. O(tokens).
  void Deduplicate(Sequence* sequence);

  /// The next `count` tokens are computed: others can match them from now on.
  virtual void Publish(Sequence* sequence, int64_t count);

  /// Takes all pages from a sequence; its state stays in the tree.
  virtual void Release(Sequence* sequence);
  /// The same for one that comes back: its state is the last to be evicted.
  void Park(Sequence* sequence);
  /// Release for one that ends. Nobody waits for what it left before.
  void Retire(Sequence* sequence);

  /// Sequence `index` of the request of `lead`, with shared pages and a state slot of its own, into
  /// which that of `lead` must be copied.
  virtual std::unique_ptr<Sequence> Fork(Sequence* lead, int32_t index, int64_t context);

  /// Makes `fork`, another sequence of the request of `lead`, one that has the tokens of `lead` and
  /// shares its pages; what it had before it gives up. Takes no memory. Not for a network with
  /// states.
  virtual void ForkInto(Sequence* lead, Sequence* fork);

  /// Frees at least `wanted` pages if so many are cached; returns how many.
  int64_t Evict(int64_t wanted);

  /// Puts pages back into the tree that were kept elsewhere: those of the positions [from,
  /// tokens.size()) of a text that begins with `tokens`, both multiples of 32. `fill(parts, index)`
  /// writes the page `index` of them; where there are window pages, they have none yet. Returns
  /// where the tree's part of it ends now: fewer tokens where pages before have been evicted
  /// meanwhile, or there is no room. Nobody's pages but cached ones are taken for it.
  int64_t Restore(kv::Namespace space, std::span<const TokenId> tokens, int64_t from,
                  FunctionRef<void(const kv::PageParts&, int64_t)> fill);
  /// Puts back the window page of the last of the pages that hold `tokens`, a multiple of 32, which
  /// `fill` writes, if that page has none. It is one of a place from now on. False if the page is
  /// gone meanwhile, or all window pages are in use.
  virtual bool RestoreWindow(kv::Namespace space, std::span<const TokenId> tokens,
                             FunctionRef<void(kv::PageId)> fill);
  /// Puts back a state that was kept elsewhere, behind `tokens`, at least one, of which those of
  /// whole pages are cached. `fill_page` writes the positions behind these into a page, if the tree
  /// has not all of them that the next row needs, `fill_state` the state. False where something of
  /// it is gone meanwhile, or there is no room. Of other snapshots those that nobody waits for are
  /// evicted for it.
  virtual bool RestoreState(kv::Namespace space, std::span<const TokenId> tokens,
                            FunctionRef<void(const kv::PageParts&)> fill_page,
                            FunctionRef<void(kv::StateId)> fill_state);
  /// PrefixTree::WatchEvictions.
  void WatchEvictions(kv::EvictionWatcher* watcher, const disk::PageKey& identity) {
    tree_.WatchEvictions(watcher, identity);
  }

  /// How many leading tokens are cached, up to a place from which it can go on.
  int64_t Match(const Sequence& sequence) const;

  /// What of these stands in pages, whether or not it can go on from there.
  kv::PrefixTree::Known Look(const Sequence& sequence) const;

  /// Pages that nobody else holds: available once it lets go.
  int64_t PagesOnlyOf(const Sequence& sequence) const;

  /// Pages that are free, or would be for the asking.
  int64_t available_pages() const { return pool_.free_count() + pool_.evictable_count(); }
  int64_t evicted_count() const { return evicted_count_; }
  /// Snapshots that have given their slots to others.
  int64_t states_evicted() const { return states_evicted_; }

  /// Leading tokens of a sequence that may come from the cache at all.
  int64_t ReusableTokens(const Sequence& sequence) const;

  /// True if the layers of the network carry a state.
  bool has_states() const { return states_.total_count() > 0; }

  kv::StatePool& states() { return states_; }
  const kv::StatePool& states() const { return states_; }
  kv::PagePool& pool() { return pool_; }
  const kv::PagePool& pool() const { return pool_; }
  const kv::PrefixTree& tree() const { return tree_; }

 protected:
  /// Puts the state of `sequence`, if it has one, into the tree.
  virtual void LeaveState(Sequence* sequence, Leaving leaving);

  kv::PagePool pool_;
  kv::StatePool states_;
  kv::PrefixTree tree_;  // behind both: it gives pages and slots back

 private:
  const Sharing sharing_;

  std::span<const TokenId> Matchable(const Sequence& sequence) const;
  kv::StateSlot SlotFor(int64_t tokens);
  void ReleasePages(Sequence* sequence);
  void FindPlaces(Sequence* sequence) const;

  int64_t evicted_count_ = 0;
  int64_t states_evicted_ = 0;
};

/// The namespace of a request's prefixes.
kv::Namespace NamespaceOf(const RequestState& request);

}  // namespace skald::engine
