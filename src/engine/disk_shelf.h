/// DiskShelf: a PageShelf of files, and the one thread that reads and writes them.
///
/// Pages go through buffers, some to be written and some to be read: so many bytes are on their way
/// at most, and taken only when they are first needed. A page that is asked for goes before all
/// that wait to be written.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/thread.h"
#include "disk/page_files.h"
#include "engine/page_shelf.h"

namespace skald::engine {

class DiskShelf : public PageShelf {
 public:
  /// `files` serve pages of one kind (PageFiles::Serve) and outlive it.
  explicit DiskShelf(disk::PageFiles* files);
  /// Writes what waits to be written.
  ~DiskShelf() override;

  bool Has(const disk::PageKey& key) const override;
  bool HasTailBehind(const disk::PageKey& key) const override;
  std::span<std::byte> Begin(const ShelfPage& page) override;
  void Commit() override;
  void BePatient() override { patient_ = true; }
  void Ask(ShelfOrder order) override;
  void Withdraw(uint64_t order) override;
  std::optional<Delivery> Take() override;
  void GiveBack(const Delivery& delivery) override;
  ShelfStats Stats() const override;

 private:
  struct Buffer {
    ShelfPage page;
    std::vector<std::byte> bytes;
  };
  // Buffers of one direction, by their index.
  struct Buffers {
    std::vector<Buffer> all;
    std::vector<size_t> free;
  };

  std::optional<size_t> TakeWriteBuffer(int64_t begin);
  void Main();
  bool CanRead() const;
  bool HasWork() const;
  void ReadNext(std::unique_lock<std::mutex>* lock);
  void WriteNext(std::unique_lock<std::mutex>* lock);

  disk::PageFiles& files_;
  const size_t page_bytes_;
  bool patient_ = false;           // of the engine's thread
  std::optional<size_t> filling_;  // the same: begun, not committed

  mutable std::mutex mutex_;  // for everything below; the bytes of a buffer are its holder's
  std::condition_variable work_;
  std::condition_variable room_;
  Buffers writes_;
  Buffers reads_;
  std::deque<size_t> to_write_;
  std::deque<ShelfOrder> orders_;
  size_t next_page_ = 0;  // of the first order
  std::deque<Delivery> ready_;
  int64_t pages_lost_ = 0;
  bool stop_ = false;

  std::optional<Thread> thread_;  // last: starts when all else is there
};

}  // namespace skald::engine
