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
      identity_(identity) {
  CHECK(!cache_.has_states() && !cache_.pool().windows().exists());
  cache_.WatchEvictions(this, identity_);
}

PageTier::~PageTier() { cache_.WatchEvictions(nullptr, identity_); }

// The page goes to somebody else behind this call, so it is copied now, at memory's speed.
void PageTier::Evicting(const kv::EvictedPage& page) {
  if (shelf_.Has(page.key)) return;
  evicted_.begin = page.begin;
  evicted_.key = page.key;
  evicted_.before = page.before;
  evicted_.tokens.assign(page.tokens.begin(), page.tokens.end());
  const std::span<std::byte> bytes = shelf_.Begin(evicted_);
  if (bytes.empty()) return;
  network_.SavePage(page.page, bytes);
  shelf_.Commit();
}

bool PageTier::Brings(Sequence* sequence) {
  RequestState* request = sequence->request;
  if (request->fetch != Fetch::kNotAsked) return request->fetch == Fetch::kOnItsWay;
  if (request->admitted) return false;
  const int64_t cached = cache_.Match(*sequence);
  // Without room it is not admitted either, and asks again in the next step. So this stands before
  // what costs more than a look.
  const int64_t reusable = cache_.ReusableTokens(*sequence);
  if (reusable / kPage - cached / kPage > cache_.available_pages()) return false;
  if (IsComing(*sequence, cached)) return true;
  if (errands_.size() == kMostErrands || hangs_) return false;
  std::vector<ShelfPage> pages = PagesFor(*sequence, cached);
  if (pages.empty() || !IsWorthReading()) {
    request->fetch = Fetch::kOver;
    return false;
  }
  const int64_t from = cached / kPage * kPage;
  const auto end = static_cast<size_t>(from + kPage * std::ssize(pages));
  errands_.push_back({.request = request,
                      .order = next_order_++,
                      .tokens = {sequence->tokens.begin(), sequence->tokens.begin() + end},
                      .next = from,
                      .asked_seconds = clock_.Seconds()});
  request->fetched_from = cached;
  request->fetched_to = cached;
  shelf_.Ask({.id = errands_.back().order, .pages = std::move(pages)});
  request->fetch = Fetch::kOnItsWay;
  return true;
}

// True if the next page of its prefix is brought for another one.
bool PageTier::IsComing(const Sequence& sequence, int64_t cached) const {
  const int64_t wanted = cached / kPage * kPage + kPage;
  if (wanted > cache_.ReusableTokens(sequence)) return false;
  const kv::Namespace space = NamespaceOf(*sequence.request);
  return std::any_of(errands_.begin(), errands_.end(), [&](const Errand& errand) {
    return NamespaceOf(*errand.request) == space && wanted <= std::ssize(errand.tokens) &&
           std::equal(errand.tokens.begin(), errand.tokens.begin() + wanted,
                      sequence.tokens.begin());
  });
}

// The pages of the prefix of `sequence` behind `cached` tokens, as far as the shelf has them.
std::vector<ShelfPage> PageTier::PagesFor(const Sequence& sequence, int64_t cached) const {
  const int64_t last = cache_.ReusableTokens(sequence) / kPage;
  const auto space = static_cast<uint64_t>(NamespaceOf(*sequence.request));
  std::vector<ShelfPage> pages;
  if (last <= cached / kPage) return pages;
  disk::PageKey before = disk::FirstKey(identity_, space);
  for (int64_t page = 0; page < last; ++page) {
    const auto tokens = std::span<const TokenId>(sequence.tokens)
                            .subspan(static_cast<size_t>(page * kPage), static_cast<size_t>(kPage));
    const disk::PageKey key = disk::NextKey(before, tokens);
    if (page >= cached / kPage) {
      if (!shelf_.Has(key)) break;
      pages.push_back({.key = key,
                       .before = before,
                       .tokens = {tokens.begin(), tokens.end()},
                       .begin = page * kPage});
    }
    before = key;
  }
  return pages;
}

PageTier::Errand* PageTier::Find(uint64_t order) {
  const auto found = std::find_if(errands_.begin(), errands_.end(),
                                  [&](const Errand& errand) { return errand.order == order; });
  return found == errands_.end() ? nullptr : &*found;
}

void PageTier::End(Errand* errand) {
  errand->request->fetch = Fetch::kOver;
  shelf_.Withdraw(errand->order);
  errands_.erase(errands_.begin() + (errand - errands_.data()));
}

void PageTier::Forget(RequestState* request) {
  const auto found = std::find_if(errands_.begin(), errands_.end(),
                                  [&](const Errand& errand) { return errand.request == request; });
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
    const int64_t tokens = std::ssize(first.tokens) - first.request->fetched_from;
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
  const double computing = row_seconds_ * static_cast<double>(kPage);
  const bool faster = row_seconds_ <= 0 || page_seconds_ < computing;
  if (!faster && ++passed_over_ < kAskedOneIn) return false;
  passed_over_ = 0;
  return true;
}

// Of an order that was withdrawn some may still come.
void PageTier::TakeOrder(std::span<const Delivery> deliveries) {
  Errand* errand = Find(deliveries.front().order);
  if (errand == nullptr) return;
  const bool missed = deliveries.back().page.empty();
  if (missed) deliveries = deliveries.first(deliveries.size() - 1);
  const int64_t wanted = errand->next + kPage * std::ssize(deliveries);
  Restore(errand, deliveries);
  const bool is_last = errand->next == std::ssize(errand->tokens);
  if (is_last) {
    const int64_t pages = (errand->next - errand->request->fetched_from) / kPage;
    page_seconds_ = (clock_.Seconds() - errand->asked_seconds) /
                    static_cast<double>(std::max<int64_t>(pages, 1));
  }
  if (missed || is_last || errand->next < wanted) End(errand);
}

void PageTier::Restore(Errand* errand, std::span<const Delivery> deliveries) {
  if (deliveries.empty()) return;
  const int64_t from = errand->next;
  const auto end = static_cast<size_t>(from + kPage * std::ssize(deliveries));
  const auto fill = [&](kv::PageId page, int64_t index) {
    network_.LoadPage(page, deliveries[static_cast<size_t>(index)].page);
    ++stats_.pages_restored;
  };
  const int64_t evicted = cache_.evicted_count();
  errand->next = cache_.Restore(NamespaceOf(*errand->request), std::span(errand->tokens).first(end),
                                from, fill);
  RequestState* request = errand->request;
  if (tracer_ != nullptr) tracer_->Evicted(*request->lead(), cache_.evicted_count() - evicted);
  request->fetched_to = std::max(request->fetched_to, errand->next);
}

void PageTier::PutAll() {
  shelf_.BePatient();
  cache_.Evict(cache_.pool().total_count());
}

}  // namespace skald::engine
