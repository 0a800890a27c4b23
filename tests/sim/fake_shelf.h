/// FakeShelf: a PageShelf in memory that is as bad as files can be. It has no room at times,
/// forgets, is slow, loses a page that it said it has, and now and then hangs for good.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/page_shelf.h"
#include "sim/fault.h"
#include "sim/seeded.h"

namespace skald::sim {

class FakeShelf : public engine::PageShelf {
 public:
  FakeShelf(uint64_t seed, int64_t page_bytes, Fault fault);

  bool Has(const disk::PageKey& key) const override;
  bool HasTailBehind(const disk::PageKey& key) const override;
  std::span<std::byte> Begin(const engine::ShelfPage& page) override;
  void Commit() override;
  void BePatient() override {}
  void Ask(engine::ShelfOrder order) override { orders_.push_back(std::move(order)); }
  void Withdraw(uint64_t order) override;
  std::optional<engine::Delivery> Take() override;
  void GiveBack(const engine::Delivery& delivery) override;

 private:
  struct Kept {
    disk::PageKey before = {};
    std::vector<TokenId> tokens;
    std::vector<std::byte> bytes;
  };
  std::span<const std::byte> BytesFor(const engine::ShelfPage& page);

  Seeded draw_;
  const size_t page_bytes_;
  const Fault fault_;
  const size_t most_pages_;
  const int64_t most_deliveries_;  // it hangs behind these
  const int64_t loses_one_in_;     // pages that it should keep, and half as many that it has
  std::map<std::string, Kept> pages_;
  engine::ShelfPage begun_;
  std::vector<std::byte> filling_;
  std::deque<engine::ShelfOrder> orders_;
  size_t next_page_ = 0;                               // of the first order
  std::map<int64_t, std::vector<std::byte>> buffers_;  // that were delivered and not given back
  int64_t next_buffer_ = 0;
};

}  // namespace skald::sim
