/// PageShelf: where pages wait that memory has given up. Bytes under keys; it knows no requests.
///
/// The engine's thread puts pages and takes them, and never waits: what is slow happens elsewhere.
/// Behind it are files (disk_shelf.h), and in the simulation a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "disk/page_key.h"
#include "skald/ids.h"

namespace skald::engine {

/// A page by all that it is a function of, or a piece of a state (shelf_records.h), as long as one.
struct ShelfPage {
  disk::PageKey key = {};
  disk::PageKey before = {};
  std::vector<TokenId> tokens;  ///< of the page
  int64_t begin = 0;            ///< tokens before it
};

/// Pages that follow each other, asked for together.
struct ShelfOrder {
  uint64_t id = 0;
  std::vector<ShelfPage> pages;
};

/// A page that has come. Its bytes stay until it is given back.
struct Delivery {
  uint64_t order = 0;
  int64_t index = 0;                ///< in the order
  std::span<const std::byte> page;  ///< empty: it is not there after all, and the order is over
  int64_t buffer = -1;              ///< the shelf's own
};

/// How a shelf stands. Since it was made, unless it says "now".
struct ShelfStats {
  int64_t pages = 0;  ///< that can be asked for, now
  int64_t bytes = 0;  ///< that they take, now
  int64_t bytes_limit = 0;
  int64_t pages_written = 0;
  int64_t pages_damaged = 0;  ///< that were found altered when they were asked for
  int64_t pages_lost = 0;     ///< that were to be kept, and had no room while they waited
  bool writes = true;         ///< false: it keeps nothing any more
};

/// One thread, the engine's.
class PageShelf {
 public:
  virtual ~PageShelf() = default;

  /// Whether a page can be asked for. A hint: it may turn out to be lost.
  virtual bool Has(const disk::PageKey& key) const = 0;
  /// Whether there is a tail (disk::IsTail) behind the page of this key. As much of a hint.
  virtual bool HasTailBehind(const disk::PageKey& key) const = 0;

  /// Memory for a page that is to be kept, to be filled before Commit. Empty if the shelf has more
  /// than enough to do, or keeps nothing any more: then the page is lost. A page is worth nothing
  /// without those before it, so of all that wait the one furthest behind its beginning is lost
  /// first.
  virtual std::span<std::byte> Begin(const ShelfPage& page) = 0;
  virtual void Commit() = 0;
  /// From now on Begin waits until there is room: for the end, when nobody else waits.
  virtual void BePatient() = 0;

  /// Asks for pages. They come by Take, in order; orders one after the other.
  virtual void Ask(ShelfOrder order) = 0;
  /// Nothing more of an order will be looked at.
  virtual void Withdraw(uint64_t order) = 0;
  /// What has come; nothing yet otherwise.
  virtual std::optional<Delivery> Take() = 0;
  virtual void GiveBack(const Delivery& delivery) = 0;

  virtual ShelfStats Stats() const { return {}; }
};

}  // namespace skald::engine
