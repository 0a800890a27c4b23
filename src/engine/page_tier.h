/// PageTier: what the engine does with a shelf (page_shelf.h). Pages that the prefix tree evicts go
/// there, and a request whose prefix goes on there has it brought back before it is admitted. So do
/// snapshots, of a network with states: without one behind them pages are of no use there, and so
/// the pages up to a snapshot are brought, and then it.
///
/// A prefix comes back into the tree, not into a sequence: pages that have come are cached pages as
/// all others, seen by whoever matches them, evicted by whoever needs room. So nothing that runs
/// depends on a disk: a page that does not come is computed. The request waits meanwhile as one
/// whose prefix another one computes, and others go before it.
///
/// Answers do not depend on any of this: a page that was brought back has the bits that would have
/// been computed.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/cache_manager.h"
#include "engine/clock.h"
#include "engine/network.h"
#include "engine/page_shelf.h"
#include "engine/request_state.h"
#include "engine/tracer.h"

namespace skald::engine {

/// Since it was made.
struct PageTierStats {
  int64_t pages_restored = 0;   ///< that came back into the tree
  int64_t states_restored = 0;  ///< the same of snapshots
  int64_t given_up = 0;         ///< prefixes that took longer than to compute them
};

/// The engine's thread owns it. All it works with outlives it.
class PageTier : public kv::EvictionWatcher {
 public:
  struct Parts {
    PageShelf& shelf;
    CacheManager& cache;
    Network& network;
    const Clock& clock;
    Tracer* tracer = nullptr;
  };
  /// For a network without window pages, whose prefixes are shared. The cache is empty.
  PageTier(const Parts& parts, const disk::PageKey& identity);
  ~PageTier() override;
  PageTier(const PageTier&) = delete;
  PageTier& operator=(const PageTier&) = delete;

  /// True while pages of the prefix of `sequence` are on their way, of a request that was never
  /// admitted: it is to wait. The first call asks for them, if the shelf has more of the prefix
  /// than memory, and memory has room. O(tokens) then, else O(1).
  bool Brings(Sequence* sequence);
  /// Puts what has come into the tree. At most what the shelf has memory for: some milliseconds.
  /// `row_seconds` is what it takes to compute a row of a prompt; 0: not known. Whoever has waited
  /// for as long as his prefix takes to compute waits no longer, nor does anybody when nothing has
  /// come for a second.
  void TakeDeliveries(double row_seconds);
  /// The request is over.
  void Forget(RequestState* request);

  /// Gives all cached pages to the shelf, however long that takes. For the end.
  void PutAll();

  /// True while something is on its way.
  bool busy() const { return !errands_.empty(); }
  /// Pages that have come, wanted or not. Any thread may ask.
  uint64_t progress() const { return came_.load(std::memory_order_relaxed); }
  const PageTierStats& stats() const { return stats_; }
  ShelfStats shelf_stats() const { return shelf_.Stats(); }

  void Evicting(const kv::EvictedPage& page) override;
  void Evicting(const kv::EvictedState& state) override;

 private:
  // What memory has of a prefix: tokens that a sequence can go on from, and those that have pages.
  struct InMemory {
    int64_t cached = 0;
    int64_t in_pages = 0;
  };
  // What the shelf has more of it.
  struct OnShelf {
    int64_t tokens = 0;            // of the prefix, with those in memory; 0: nothing
    std::vector<ShelfPage> pages;  // then the pieces of a state, if the network has one
  };
  // The border of a page of a prefix behind which the shelf has snapshots, of whomever.
  struct Border {
    disk::PageKey key;  // of the page before it
    int64_t begin;      // tokens up to it
    size_t pages;       // of the shelf up to it
  };
  // A prefix on its way.
  struct Errand {
    RequestState* request;
    uint64_t order;
    std::vector<TokenId> tokens;  // of the prefix
    int64_t pages_end;            // of which so many stand in whole pages
    int64_t next;                 // tokens whose pages are in the tree
    int64_t records;              // that were asked for
    int64_t came;                 // of these
    double asked_seconds;
  };

  bool IsComing(const Sequence& sequence, int64_t cached) const;
  OnShelf Find(const Sequence& sequence, const InMemory& memory) const;
  OnShelf UpToState(OnShelf found, std::span<const Border> borders,
                    std::span<const TokenId> tokens) const;
  std::vector<ShelfPage> FindState(std::span<const TokenId> left, const Border& border) const;
  Errand* ErrandOf(uint64_t order);
  void End(Errand* errand);
  void Restore(Errand* errand, std::span<const Delivery> deliveries);
  void TakePieces(Errand* errand, std::span<const Delivery> deliveries);
  void RestoreState(Errand* errand);
  void TraceEvicted(const Errand& errand, int64_t evicted_before);
  void TakeOrder(std::span<const Delivery> deliveries);
  void GiveUpSlow();
  bool IsWorthReading();

  PageShelf& shelf_;
  CacheManager& cache_;
  Network& network_;
  const Clock& clock_;
  Tracer* const tracer_;
  const disk::PageKey identity_;
  std::vector<Errand> errands_;  // few: of the requests that a step looked at
  std::vector<Delivery> deliveries_;
  ShelfPage evicted_;
  const int64_t page_bytes_;
  const int64_t piece_count_;      // of a state; 0: the network has none
  std::vector<std::byte> pieces_;  // of the state on its way: orders come one after the other
  uint64_t next_order_ = 1;
  double row_seconds_ = 0;
  double token_seconds_ = 0;  // of the last prefix that came, from asking on; 0: none has
  int64_t passed_over_ = 0;   // requests since one was brought, because reading was slower
  double came_seconds_ = 0;   // when something came last
  std::atomic<uint64_t> came_ = 0;
  bool hangs_ = false;  // one was given up, and nothing has come since
  PageTierStats stats_;
};

}  // namespace skald::engine
