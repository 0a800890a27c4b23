#include "sim/fake_shelf.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace skald::sim {

FakeShelf::FakeShelf(uint64_t seed, int64_t page_bytes, Fault fault)
    : draw_(seed ^ 0x5e1f),
      page_bytes_(static_cast<size_t>(page_bytes)),
      fault_(fault),
      most_pages_(static_cast<size_t>(draw_.Between(1, 256))),
      most_deliveries_(draw_.OneIn(3) ? draw_.Between(0, 8) : std::numeric_limits<int64_t>::max()),
      loses_one_in_(draw_.OneIn(3) ? 8 : 128) {}

bool FakeShelf::Has(const disk::PageKey& key) const {
  return pages_.contains(std::string(key.view()));
}

bool FakeShelf::HasTailBehind(const disk::PageKey& key) const {
  return std::any_of(pages_.begin(), pages_.end(), [&](const auto& each) {
    return each.second.before == key && disk::IsTail(each.second.tokens);
  });
}

std::span<std::byte> FakeShelf::Begin(const engine::ShelfPage& page) {
  CHECK(filling_.empty());
  if (draw_.OneIn(loses_one_in_)) return {};
  begun_ = page;
  filling_.resize(page_bytes_);
  return filling_;
}

void FakeShelf::Commit() {
  if (pages_.size() >= most_pages_) pages_.erase(pages_.begin());
  pages_[std::string(begun_.key.view())] = {
      .before = begun_.before, .tokens = begun_.tokens, .bytes = std::move(filling_)};
  filling_.clear();
}

void FakeShelf::Withdraw(uint64_t order) {
  if (!orders_.empty() && orders_.front().id == order) next_page_ = 0;
  std::erase_if(orders_, [&](const engine::ShelfOrder& each) { return each.id == order; });
}

std::span<const std::byte> FakeShelf::BytesFor(const engine::ShelfPage& page) {
  auto found = pages_.find(std::string(page.key.view()));
  if (found == pages_.end()) return {};
  CHECK(found->second.tokens == page.tokens);
  if (draw_.OneIn(2 * loses_one_in_)) {
    pages_.erase(found);
    return {};
  }
  if (fault_ == Fault::kShelfOtherPage) found = pages_.begin();
  return buffers_[next_buffer_] = found->second.bytes;
}

std::optional<engine::Delivery> FakeShelf::Take() {
  if (orders_.empty() || draw_.OneIn(2)) return std::nullopt;
  if (next_buffer_ >= most_deliveries_) return std::nullopt;
  const engine::ShelfOrder& order = orders_.front();
  engine::Delivery delivery = {.order = order.id,
                               .index = static_cast<int64_t>(next_page_),
                               .page = BytesFor(order.pages[next_page_]),
                               .buffer = next_buffer_++};
  if (delivery.page.empty() || ++next_page_ == order.pages.size()) {
    orders_.pop_front();
    next_page_ = 0;
  }
  return delivery;
}

void FakeShelf::GiveBack(const engine::Delivery& delivery) { buffers_.erase(delivery.buffer); }

}  // namespace skald::sim
