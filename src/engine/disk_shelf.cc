#include "engine/disk_shelf.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace skald::engine {
namespace {

// A step of a long prompt evicts as many pages as it fills: 16 of a chunk of 512, 4 MiB each for a
// model of 8 B, several times before the first is written.
constexpr size_t kBytesToWrite = size_t{128} << 20;
// What is read between two steps is copied by the engine's thread: 32 MiB are some milliseconds.
constexpr size_t kBytesToRead = size_t{32} << 20;
constexpr size_t kLeastBuffers = 4;
// A state goes in pieces of a page's length (shelf_records.h), all at once: 63 MiB are a thousand
// of 64 KiB, which all wait.
constexpr size_t kMostBuffers = 2048;

size_t BuffersFor(size_t bytes, size_t page_bytes) {
  return std::clamp(bytes / page_bytes, kLeastBuffers, kMostBuffers);
}

}  // namespace

DiskShelf::DiskShelf(disk::PageFiles* files)
    : files_(*files), page_bytes_(static_cast<size_t>(files->kind().page_bytes)) {
  const auto fill = [&](Buffers* buffers, size_t bytes) {
    buffers->all.resize(BuffersFor(bytes, page_bytes_));
    for (size_t i = buffers->all.size(); i > 0; --i) buffers->free.push_back(i - 1);
  };
  fill(&writes_, kBytesToWrite);
  fill(&reads_, kBytesToRead);
  thread_.emplace("pages", [this] { Main(); });
}

DiskShelf::~DiskShelf() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.reset();
}

bool DiskShelf::Has(const disk::PageKey& key) const { return files_.Has(key); }
bool DiskShelf::HasTailBehind(const disk::PageKey& key) const { return files_.HasTailBehind(key); }

std::span<std::byte> DiskShelf::Begin(const ShelfPage& page) {
  CHECK(!filling_);
  if (!files_.writes()) return {};
  std::unique_lock lock(mutex_);
  if (patient_) room_.wait(lock, [this] { return !writes_.free.empty(); });
  filling_ = TakeWriteBuffer(page.begin);
  if (!filling_) {
    ++pages_lost_;
    return {};
  }
  Buffer& buffer = writes_.all[*filling_];
  buffer.page = page;
  buffer.bytes.resize(page_bytes_);
  return buffer.bytes;
}

// A free one, or else that of the page which waits furthest behind the beginning of its text. A
// path is evicted from its tail, so without this a burst would keep tails, and lose what they go on
// from.
std::optional<size_t> DiskShelf::TakeWriteBuffer(int64_t begin) {
  if (!writes_.free.empty()) {
    const size_t index = writes_.free.back();
    writes_.free.pop_back();
    return index;
  }
  const auto furthest = std::max_element(
      to_write_.begin(), to_write_.end(),
      [this](size_t a, size_t b) { return writes_.all[a].page.begin < writes_.all[b].page.begin; });
  if (furthest == to_write_.end() || writes_.all[*furthest].page.begin <= begin) {
    return std::nullopt;
  }
  const size_t index = *furthest;
  to_write_.erase(furthest);
  ++pages_lost_;
  return index;
}

void DiskShelf::Commit() {
  {
    const std::lock_guard lock(mutex_);
    to_write_.push_back(*filling_);
  }
  filling_.reset();
  work_.notify_one();
}

void DiskShelf::Ask(ShelfOrder order) {
  CHECK(!order.pages.empty());
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  work_.notify_one();
}

void DiskShelf::Withdraw(uint64_t order) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(orders_.begin(), orders_.end(),
                                  [&](const ShelfOrder& each) { return each.id == order; });
  if (found == orders_.end()) return;
  if (found == orders_.begin()) next_page_ = 0;
  orders_.erase(found);
}

std::optional<Delivery> DiskShelf::Take() {
  const std::lock_guard lock(mutex_);
  if (ready_.empty()) return std::nullopt;
  const Delivery delivery = ready_.front();
  ready_.pop_front();
  return delivery;
}

void DiskShelf::GiveBack(const Delivery& delivery) {
  {
    const std::lock_guard lock(mutex_);
    reads_.free.push_back(static_cast<size_t>(delivery.buffer));
  }
  work_.notify_one();
}

ShelfStats DiskShelf::Stats() const {
  const disk::PageFilesStats files = files_.Stats();
  const std::lock_guard lock(mutex_);
  return {.pages = files.pages,
          .bytes = files.bytes,
          .bytes_limit = files.bytes_limit,
          .pages_written = files.pages_written,
          .pages_damaged = files.pages_dropped,
          .pages_lost = pages_lost_,
          .writes = files.stopped.empty()};
}

bool DiskShelf::CanRead() const { return !stop_ && !orders_.empty() && !reads_.free.empty(); }
bool DiskShelf::HasWork() const { return stop_ || CanRead() || !to_write_.empty(); }

void DiskShelf::Main() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return HasWork(); });
    if (CanRead()) {
      ReadNext(&lock);
    } else if (!to_write_.empty()) {
      WriteNext(&lock);
    } else {
      return;
    }
  }
}

// The order may be withdrawn while its page is read: then the page is delivered to nobody.
void DiskShelf::ReadNext(std::unique_lock<std::mutex>* lock) {
  const size_t index = reads_.free.back();
  reads_.free.pop_back();
  Buffer& buffer = reads_.all[index];
  const uint64_t order = orders_.front().id;
  const auto page = static_cast<int64_t>(next_page_);
  buffer.page = std::move(orders_.front().pages[next_page_]);
  const bool is_last = ++next_page_ == orders_.front().pages.size();
  lock->unlock();
  buffer.bytes.resize(page_bytes_);
  const disk::PageName name = {
      .key = buffer.page.key, .before = buffer.page.before, .tokens = buffer.page.tokens};
  const bool found = files_.Read(name, buffer.bytes);
  lock->lock();
  ready_.push_back(
      {.order = order,
       .index = page,
       .page = found ? std::span<const std::byte>(buffer.bytes) : std::span<const std::byte>(),
       .buffer = static_cast<int64_t>(index)});
  const bool stands = !orders_.empty() && orders_.front().id == order;
  if (stands && (is_last || !found)) {
    orders_.pop_front();
    next_page_ = 0;
  }
}

void DiskShelf::WriteNext(std::unique_lock<std::mutex>* lock) {
  const size_t index = to_write_.front();
  to_write_.pop_front();
  const Buffer& buffer = writes_.all[index];
  lock->unlock();
  files_.Put({.key = buffer.page.key, .before = buffer.page.before, .tokens = buffer.page.tokens},
             buffer.bytes);
  lock->lock();
  writes_.free.push_back(index);
  room_.notify_one();
}

}  // namespace skald::engine
