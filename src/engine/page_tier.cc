#include "engine/page_tier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;

// A disk from which nothing comes for so long hangs. Far below the eight seconds after which a
// server takes an engine that computes nothing for dead.
constexpr double kPatienceSeconds = 1;
// A disk that was slower than computing is asked again now and then: it may have been busy.
constexpr int64_t kAskedOneIn = 16;
// What stands at the end of the list compares prefixes with all of it.
constexpr size_t kMostErrands = 32;

}  // namespace

PageTier::PageTier(const Parts& parts, const disk::PageKey& identity)
    : shelf_(parts.shelf),
      cache_(parts.cache),
      network_(parts.network),
      clock_(parts.clock),
      tracer_(parts.tracer),
      identity_(identity),
      sizes_(RecordSizesOf(network_, cache_.pool().windows().limits())),
      search_(shelf_, cache_.pool().windows(), sizes_, identity_) {
  CHECK(sizes_.record_bytes > 0);
  cache_.WatchEvictions(this, identity_);
}

PageTier::~PageTier() { cache_.WatchEvictions(nullptr, identity_); }

// What a record of a page has: where window pages have records of their own, the other part.
kv::PageParts PageTier::PageRecord(const kv::PageParts& parts) const {
  return sizes_.window > 0 ? kv::PageParts{.full = parts.full} : parts;
}

// The page goes to somebody else behind this call, so it is copied now, at memory's speed.
void PageTier::Evicting(const kv::EvictedPage& page) {
  if (!network_.Lost().ok()) return;
  if (page.parts.full != kv::kNoPage && sizes_.page > 0 && !shelf_.Has(page.key)) {
    evicted_.begin = page.begin;
    evicted_.key = page.key;
    evicted_.before = page.before;
    evicted_.tokens.assign(page.tokens.begin(), page.tokens.end());
    const std::span<std::byte> bytes = shelf_.Begin(evicted_);
    if (!bytes.empty()) {
      network_.SavePage(PageRecord(page.parts), bytes);
      if (!Commit()) return;
    }
  }
  if (sizes_.window > 0 && page.parts.window != kv::kNoPage) SaveWindow(page);
}

// Not what a network has given that is lost: it is no page.
bool PageTier::Commit() {
  if (!network_.Lost().ok()) return false;
  shelf_.Commit();
  return true;
}

void PageTier::SaveWindow(const kv::EvictedPage& page) {
  const auto records = WindowRecords(page.key, page.begin, sizes_.window);
  const auto is_kept = [this](const ShelfPage& record) { return shelf_.Has(record.key); };
  if (std::all_of(records.begin(), records.end(), is_kept)) return;
  saved_.resize(static_cast<size_t>(sizes_.window_bytes));
  network_.SavePage({.window = page.parts.window}, saved_);
  Save(records, sizes_.window_bytes, [this](int64_t begin, std::span<std::byte> piece) {
    std::copy_n(saved_.begin() + begin, piece.size(), piece.begin());
  });
}

// Without the window page of its tail nobody could go on from there. A state is copied from where
// it stands, piece by piece: it is large.
void PageTier::Evicting(const kv::EvictedState& state) {
  if (!network_.Lost().ok()) return;
  const bool has_tail = !state.tokens.empty();
  if (sizes_.window > 0 && has_tail && state.parts.window == kv::kNoPage) return;
  const int64_t tail = sizes_.tail_bytes;
  saved_.assign(static_cast<size_t>(tail), std::byte{});
  if (has_tail) network_.SavePage(state.parts, saved_);
  Save(StateRecords(state.before, state.tokens, state.end, sizes_.state), tail + sizes_.state_bytes,
       [&](int64_t begin, std::span<std::byte> piece) {
         const int64_t of_tail = std::clamp<int64_t>(tail - begin, 0, std::ssize(piece));
         std::copy_n(saved_.begin() + std::min(begin, tail), of_tail, piece.begin());
         piece = piece.subspan(static_cast<size_t>(of_tail));
         if (!piece.empty()) network_.SaveState(state.state, begin + of_tail - tail, piece);
       });
}

// Of `bytes` bytes those that the shelf has not. `fill` gives those from `begin` on.
void PageTier::Save(std::span<const ShelfPage> records, int64_t bytes,
                    FunctionRef<void(int64_t begin, std::span<std::byte> piece)> fill) {
  int64_t next = 0;
  for (const ShelfPage& record : records) {
    const int64_t begin = std::exchange(next, std::min(next + sizes_.record_bytes, bytes));
    if (shelf_.Has(record.key)) continue;
    const std::span<std::byte> kept = shelf_.Begin(record);
    if (kept.empty()) return;  // what lacks a record is lost
    const auto count = static_cast<size_t>(next - begin);
    fill(begin, kept.first(count));
    // What stood in the buffer before is of another text, perhaps another tenant's.
    std::fill(kept.begin() + next - begin, kept.end(), std::byte{});
    if (!Commit()) return;
  }
}

bool PageTier::Brings(Sequence* sequence) {
  Fetching& fetching = sequence->fetching;
  if (fetching.fetch != Fetch::kNotAsked) return fetching.fetch == Fetch::kOnItsWay;
  const InMemory memory = {.cached = cache_.Match(*sequence), .pages = cache_.Look(*sequence)};
  // Without room it is not admitted either, and asks again in the next step. So this stands before
  // what costs more than a look.
  const int64_t reusable = cache_.ReusableTokens(*sequence);
  if (reusable / kPage - memory.pages.tokens / kPage > cache_.available_pages()) return false;
  if (IsComing(*sequence, memory.cached)) return true;
  if (errands_.size() == kMostErrands || hangs_) return false;
  const auto tokens = std::span(sequence->tokens).first(static_cast<size_t>(reusable));
  const kv::Namespace space = NamespaceOf(*sequence->request);
  OnShelf found = search_.Find(space, tokens, memory);
  if (found.records.empty() || !IsWorthReading()) {
    fetching.fetch = Fetch::kOver;
    return false;
  }
  const int64_t pages_end = found.tokens / kPage * kPage;
  errands_.push_back({.sequence = sequence,
                      .order = next_order_++,
                      .tokens = {tokens.begin(), tokens.begin() + found.tokens},
                      .cached = memory.cached,
                      .pages_end = pages_end,
                      .next = std::min(memory.pages.tokens / kPage * kPage, pages_end),
                      .windows = std::move(found.windows),
                      .page_records = found.page_records,
                      .records = std::ssize(found.records),
                      .came = 0,
                      .evicted = EvictedCount(),
                      .asked_seconds = clock_.Seconds()});
  shelf_.Ask({.id = errands_.back().order, .pages = std::move(found.records)});
  fetching = {.fetch = Fetch::kOnItsWay, .from = memory.cached, .to = memory.cached};
  return true;
}

// True if the next page of its prefix is brought for another one; where pages alone are of no use,
// a longer part of it.
bool PageTier::IsComing(const Sequence& sequence, int64_t cached) const {
  const kv::Namespace space = NamespaceOf(*sequence.request);
  const int64_t reusable = cache_.ReusableTokens(sequence);
  return std::any_of(errands_.begin(), errands_.end(), [&](const Errand& errand) {
    const int64_t all = std::ssize(errand.tokens);
    const bool in_one_go = sizes_.window > 0 || sizes_.state > 0;
    const int64_t wanted = in_one_go ? all : cached / kPage * kPage + kPage;
    return errand.space() == space && wanted > cached && wanted <= all && wanted <= reusable &&
           std::equal(errand.tokens.begin(), errand.tokens.begin() + wanted,
                      sequence.tokens.begin());
  });
}

PageTier::Errand* PageTier::ErrandOf(uint64_t order) {
  const auto found = std::find_if(errands_.begin(), errands_.end(),
                                  [&](const Errand& errand) { return errand.order == order; });
  return found == errands_.end() ? nullptr : &*found;
}

void PageTier::End(Errand* errand) {
  Fetching& fetching = errand->sequence->fetching;
  fetching.fetch = Fetch::kOver;
  if (tracer_ != nullptr) {
    tracer_->Brought(*errand->sequence, {.from = fetching.from,
                                         .to = fetching.to,
                                         .records = errand->came,
                                         .bytes = errand->came * sizes_.record_bytes,
                                         .seconds = clock_.Seconds() - errand->asked_seconds});
  }
  shelf_.Withdraw(errand->order);
  errands_.erase(errands_.begin() + (errand - errands_.data()));
}

void PageTier::Forget(Sequence* sequence) {
  const auto found = std::find_if(errands_.begin(), errands_.end(), [&](const Errand& errand) {
    return errand.sequence == sequence;
  });
  if (found != errands_.end()) End(&*found);
}

// Those of one order together: finding the place in the tree costs as much as the prefix is long.
void PageTier::TakeDeliveries(double row_seconds) {
  row_seconds_ = row_seconds;
  deliveries_.clear();
  while (const std::optional<Delivery> delivery = shelf_.Take()) deliveries_.push_back(*delivery);
  if (!deliveries_.empty()) {
    hangs_ = false;
    came_seconds_ = clock_.Seconds();
    came_.fetch_add(deliveries_.size(), std::memory_order_relaxed);
  }
  std::span<const Delivery> left = deliveries_;
  while (!left.empty()) {
    const auto end = std::find_if(left.begin(), left.end(), [&](const Delivery& each) {
      return each.order != left.front().order;
    });
    const auto count = static_cast<size_t>(end - left.begin());
    TakeOrder(left.first(count));
    left = left.subspan(count);
  }
  for (const Delivery& delivery : deliveries_) shelf_.GiveBack(delivery);
  GiveUpSlow();
}

// Those that were asked for later wait behind it, so it is enough to look at the first.
void PageTier::GiveUpSlow() {
  while (!errands_.empty()) {
    Errand& first = errands_.front();
    const int64_t tokens = std::ssize(first.tokens) - first.cached;
    const double computing = row_seconds_ * static_cast<double>(tokens);
    const double now = clock_.Seconds();
    const bool is_slow = row_seconds_ > 0 && now - first.asked_seconds > computing;
    const bool hangs = now - std::max(first.asked_seconds, came_seconds_) > kPatienceSeconds;
    if (!is_slow && !hangs) return;
    ++stats_.given_up;
    hangs_ = true;
    End(&first);
  }
}

// Both were measured; what was not is worth a try.
bool PageTier::IsWorthReading() {
  const bool faster = row_seconds_ <= 0 || token_seconds_ < row_seconds_;
  if (!faster && ++passed_over_ < kAskedOneIn) return false;
  passed_over_ = 0;
  return true;
}

// Of an order that was withdrawn some may still come.
void PageTier::TakeOrder(std::span<const Delivery> deliveries) {
  Errand* errand = ErrandOf(deliveries.front().order);
  if (errand == nullptr) return;
  const bool missed = deliveries.back().page.empty();
  if (missed) deliveries = deliveries.first(deliveries.size() - 1);
  errand->came += std::ssize(deliveries);
  const int64_t evicted = cache_.evicted_count();
  const bool restored = TakeRecords(errand, deliveries);
  TraceEvicted(*errand, evicted);
  const bool is_last = errand->came == errand->records;
  if (is_last) {
    const int64_t tokens = std::ssize(errand->tokens) - errand->cached;
    token_seconds_ = (clock_.Seconds() - errand->asked_seconds) / static_cast<double>(tokens);
    const bool is_usable = cache_.Match(*errand->sequence) >= std::ssize(errand->tokens);
    if (is_usable) Brought(errand, std::ssize(errand->tokens));
    const bool resumes = errand->sequence->phase() == Phase::kPreempted;
    stats_.resumed += int64_t{is_usable && resumes};
    stats_.unusable += int64_t{restored && !is_usable && EvictedCount() == errand->evicted};
  }
  if (missed || is_last || !restored) End(errand);
}

// False where something of it has no place any more.
bool PageTier::TakeRecords(Errand* errand, std::span<const Delivery> deliveries) {
  const auto is_page = [&](const Delivery& each) { return each.index < errand->page_records; };
  const auto pages = std::partition_point(deliveries.begin(), deliveries.end(), is_page);
  const auto of_pages = deliveries.first(static_cast<size_t>(pages - deliveries.begin()));
  const int64_t end = errand->next + kPage * std::ssize(of_pages);
  const bool has_room = Restore(errand, of_pages, end);
  // With windows or states nobody can go on from pages alone.
  if (sizes_.window == 0 && sizes_.state == 0) Brought(errand, errand->next);
  if (!has_room) return false;
  for (const Delivery& delivery : deliveries.subspan(of_pages.size())) {
    // Pages without bytes have no records, and are put there before what they need.
    if (!Restore(errand, {}, errand->pages_end) || !TakePiece(errand, delivery)) return false;
  }
  return true;
}

// Pages up to `end`.
bool PageTier::Restore(Errand* errand, std::span<const Delivery> deliveries, int64_t end) {
  if (errand->next >= end) return true;
  const auto fill = [&](const kv::PageParts& parts, int64_t index) {
    if (deliveries.empty()) return;
    network_.LoadPage(PageRecord(parts), deliveries[static_cast<size_t>(index)].page);
    ++stats_.pages_restored;
  };
  const auto tokens = std::span(errand->tokens).first(static_cast<size_t>(end));
  errand->next = cache_.Restore(errand->space(), tokens, errand->next, fill);
  return errand->next >= end;
}

// A record of a window page, or of a state.
bool PageTier::TakePiece(Errand* errand, const Delivery& delivery) {
  int64_t piece = delivery.index - errand->page_records;
  const int64_t of_windows = std::ssize(errand->windows) * sizes_.window;
  const bool is_window = piece < of_windows;
  const int64_t page = is_window ? errand->windows[static_cast<size_t>(piece / sizes_.window)] : 0;
  piece = is_window ? piece % sizes_.window : piece - of_windows;
  const int64_t pieces = is_window ? sizes_.window : sizes_.state;
  pieces_.resize(static_cast<size_t>(pieces * sizes_.record_bytes));
  std::copy(delivery.page.begin(), delivery.page.end(),
            pieces_.begin() + piece * sizes_.record_bytes);
  if (piece + 1 < pieces) return true;
  return is_window ? RestoreWindow(*errand, page) : RestoreState(*errand);
}

bool PageTier::RestoreWindow(const Errand& errand, int64_t page) {
  const auto bytes =
      std::span<const std::byte>(pieces_).first(static_cast<size_t>(sizes_.window_bytes));
  const auto tokens = std::span(errand.tokens).first(static_cast<size_t>((page + 1) * kPage));
  const bool restored = cache_.RestoreWindow(errand.space(), tokens, [&](kv::PageId window) {
    network_.LoadPage({.window = window}, bytes);
  });
  stats_.windows_restored += int64_t{restored};
  return restored;
}

bool PageTier::RestoreState(const Errand& errand) {
  const std::span<const std::byte> pieces = pieces_;
  const auto tail = pieces.first(static_cast<size_t>(sizes_.tail_bytes));
  const auto state = pieces.subspan(tail.size(), static_cast<size_t>(sizes_.state_bytes));
  const bool restored = cache_.RestoreState(
      errand.space(), errand.tokens,
      [&](const kv::PageParts& parts) { network_.LoadPage(parts, tail); },
      [&](kv::StateId id) { network_.LoadState(id, 0, state); });
  stats_.states_restored += int64_t{restored};
  return restored;
}

// So many leading tokens of the prefix can be gone on from.
void PageTier::Brought(Errand* errand, int64_t tokens) {
  Fetching& fetching = errand->sequence->fetching;
  fetching.to = std::max(fetching.to, tokens);
}

// Pages, window pages and snapshots.
int64_t PageTier::EvictedCount() const {
  return cache_.evicted_count() + cache_.states_evicted() + cache_.pool().windows().evicted_count();
}

void PageTier::TraceEvicted(const Errand& errand, int64_t evicted_before) {
  if (tracer_ == nullptr) return;
  tracer_->Evicted(*errand.sequence, cache_.evicted_count() - evicted_before);
}

void PageTier::PutAll() {
  shelf_.BePatient();
  cache_.Evict(cache_.pool().total_count());
}

}  // namespace skald::engine
