/// PageTier: what the engine does with a shelf (page_shelf.h). Pages that the prefix tree evicts go
/// there, and a sequence whose prefix goes on there has it brought back before it is admitted, for
/// the first time or after it was preempted. So do window pages, with their pages or before them,
/// and snapshots of a network with states. Without what its next row needs nobody goes on from a
/// page, so the pages up to such a place are brought, and then what is needed there
/// (shelf_search.h).
///
/// A prefix comes back into the tree, not into a sequence: pages that have come are cached pages as
/// all others, seen by whoever matches them, evicted by whoever needs room. So nothing that runs
/// depends on a disk: a page that does not come is computed. The sequence waits meanwhile as one
/// whose prefix another one computes, and others go before it.
///
/// Answers do not depend on any of this: a page that was brought back has the bits that would have
/// been computed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "engine/cache_manager.h"
#include "engine/clock.h"
#include "engine/network.h"
#include "engine/page_shelf.h"
#include "engine/request_state.h"
#include "engine/shelf_records.h"
#include "engine/shelf_search.h"
#include "engine/tracer.h"

namespace skald::engine {

/// Since it was made.
struct PageTierStats {
  int64_t pages_restored = 0;    ///< that came back into the tree
  int64_t windows_restored = 0;  ///< the same of window pages
  int64_t states_restored = 0;   ///< and of snapshots
  int64_t resumed = 0;           ///< prefixes that came of preempted sequences
  int64_t given_up = 0;          ///< prefixes that took longer than to compute them
  /// Prefixes that came and could not be gone on from, though nothing was evicted meanwhile: none.
  int64_t unusable = 0;
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
  /// For a network whose prefixes are shared, and which keeps something of them. The cache is
  /// empty.
  PageTier(const Parts& parts, const disk::PageKey& identity);
  ~PageTier() override;
  PageTier(const PageTier&) = delete;
  PageTier& operator=(const PageTier&) = delete;

  /// True while pages of the prefix of `sequence`, which waits, are on their way: it is to wait
  /// for them. The first call asks for them, if the shelf has more of the prefix than memory, and
  /// memory has room. O(tokens) then, else O(1).
  bool Brings(Sequence* sequence);
  /// Puts what has come into the tree. At most what the shelf has memory for: some milliseconds.
  /// `row_seconds` is what it takes to compute a row of a prompt; 0: not known. Whoever has waited
  /// for as long as his prefix takes to compute waits no longer, nor does anybody when nothing has
  /// come for a second.
  void TakeDeliveries(double row_seconds);
  /// The sequence is over.
  void Forget(Sequence* sequence);

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
  // A prefix on its way: records of pages, then of window pages, then of a state.
  struct Errand {
    Sequence* sequence;
    uint64_t order;
    std::vector<TokenId> tokens;   // of the prefix
    int64_t cached;                // of these, when they were asked for
    int64_t pages_end;             // of these, those in whole pages
    int64_t next;                  // tokens whose pages are in the tree
    std::vector<int64_t> windows;  // pages whose window pages come, by their index
    int64_t page_records;
    int64_t records;  // all that were asked for
    int64_t came;     // of these
    int64_t evicted;  // from the cache, when they were asked for
    double asked_seconds;

    kv::Namespace space() const { return NamespaceOf(*sequence->request); }
  };

  bool Commit();
  bool IsComing(const Sequence& sequence, int64_t cached) const;
  Errand* ErrandOf(uint64_t order);
  void End(Errand* errand);
  void TakeOrder(std::span<const Delivery> deliveries);
  bool TakeRecords(Errand* errand, std::span<const Delivery> deliveries);
  bool Restore(Errand* errand, std::span<const Delivery> deliveries, int64_t end);
  bool TakePiece(Errand* errand, const Delivery& delivery);
  bool RestoreWindow(const Errand& errand, int64_t page);
  bool RestoreState(const Errand& errand);
  void Brought(Errand* errand, int64_t tokens);
  int64_t EvictedCount() const;
  void TraceEvicted(const Errand& errand, int64_t evicted_before);
  void SaveWindow(const kv::EvictedPage& page);
  void Save(std::span<const ShelfPage> records, int64_t bytes,
            FunctionRef<void(int64_t begin, std::span<std::byte> piece)> fill);
  void GiveUpSlow();
  bool IsWorthReading();
  kv::PageParts PageRecord(const kv::PageParts& parts) const;

  PageShelf& shelf_;
  CacheManager& cache_;
  Network& network_;
  const Clock& clock_;
  Tracer* const tracer_;
  const disk::PageKey identity_;
  std::vector<Errand> errands_;  // few: of the requests that a step looked at
  std::vector<Delivery> deliveries_;
  const RecordSizes sizes_;
  const ShelfSearch search_;
  ShelfPage evicted_;
  std::vector<std::byte> saved_;   // what is cut into records
  std::vector<std::byte> pieces_;  // of what is on its way: orders come one after the other
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
