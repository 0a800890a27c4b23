#include "engine/page_tier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/state_pieces.h"
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
// Borders of pages behind which snapshots are looked for: 32 hashes each.
constexpr size_t kMostBorders = 64;

}  // namespace

PageTier::PageTier(const Parts& parts, const disk::PageKey& identity)
    : shelf_(parts.shelf),
      cache_(parts.cache),
      network_(parts.network),
      clock_(parts.clock),
      tracer_(parts.tracer),
      identity_(identity),
      page_bytes_(network_.PageBytes()),
      piece_count_(cache_.has_states() ? StatePieceCount(network_.StateBytes(), page_bytes_) : 0) {
  CHECK(!cache_.pool().windows().exists());
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

// Each piece is copied from where it stands, and none that the shelf has.
void PageTier::Evicting(const kv::EvictedState& state) {
  int64_t begin = -page_bytes_;  // of the piece in the state; the first is the page
  for (const ShelfPage& piece : StatePieces(state.before, state.tokens, state.end, piece_count_)) {
    const int64_t at = std::exchange(begin, begin + page_bytes_);
    if (shelf_.Has(piece.key)) continue;
    const std::span<std::byte> bytes = shelf_.Begin(piece);
    if (bytes.empty()) return;  // a state that lacks a piece is none
    if (at < 0) {
      network_.SavePage(state.page, bytes);
    } else {
      const int64_t count = std::min(page_bytes_, network_.StateBytes() - at);
      network_.SaveState(state.state, at, bytes.first(static_cast<size_t>(count)));
      // What stood in the buffer before is of another text, perhaps another tenant's.
      std::fill(bytes.begin() + count, bytes.end(), std::byte{});
    }
    shelf_.Commit();
  }
}

bool PageTier::Brings(Sequence* sequence) {
  RequestState* request = sequence->request;
  if (request->fetch != Fetch::kNotAsked) return request->fetch == Fetch::kOnItsWay;
  if (request->admitted) return false;
  const InMemory memory = {.cached = cache_.Match(*sequence),
                           .in_pages = cache_.MatchPages(*sequence)};
  // Without room it is not admitted either, and asks again in the next step. So this stands before
  // what costs more than a look.
  const int64_t reusable = cache_.ReusableTokens(*sequence);
  if (reusable / kPage - memory.in_pages / kPage > cache_.available_pages()) return false;
  if (IsComing(*sequence, memory.cached)) return true;
  if (errands_.size() == kMostErrands || hangs_) return false;
  OnShelf found = Find(*sequence, memory);
  if (found.tokens == 0 || !IsWorthReading()) {
    request->fetch = Fetch::kOver;
    return false;
  }
  const auto tokens = sequence->tokens.begin();
  errands_.push_back({.request = request,
                      .order = next_order_++,
                      .tokens = {tokens, tokens + static_cast<ptrdiff_t>(found.tokens)},
                      .pages_end = found.tokens / kPage * kPage,
                      .next = std::min(memory.in_pages, found.tokens) / kPage * kPage,
                      .records = std::ssize(found.pages),
                      .came = 0,
                      .asked_seconds = clock_.Seconds()});
  request->fetched_from = memory.cached;
  request->fetched_to = memory.cached;
  shelf_.Ask({.id = errands_.back().order, .pages = std::move(found.pages)});
  request->fetch = Fetch::kOnItsWay;
  return true;
}

// True if the next page of its prefix is brought for another one; with states, a longer part of it.
bool PageTier::IsComing(const Sequence& sequence, int64_t cached) const {
  const kv::Namespace space = NamespaceOf(*sequence.request);
  const int64_t reusable = cache_.ReusableTokens(sequence);
  return std::any_of(errands_.begin(), errands_.end(), [&](const Errand& errand) {
    const int64_t all = std::ssize(errand.tokens);
    const int64_t wanted = piece_count_ > 0 ? all : cached / kPage * kPage + kPage;
    return NamespaceOf(*errand.request) == space && wanted > cached && wanted <= all &&
           wanted <= reusable &&
           std::equal(errand.tokens.begin(), errand.tokens.begin() + wanted,
                      sequence.tokens.begin());
  });
}

// Along the pages of its prefix, as far as memory or the shelf has them.
PageTier::OnShelf PageTier::Find(const Sequence& sequence, const InMemory& memory) const {
  const int64_t reusable = cache_.ReusableTokens(sequence);
  if (reusable / kPage <= memory.cached / kPage) return {};
  const auto tokens =
      std::span<const TokenId>(sequence.tokens).first(static_cast<size_t>(reusable));
  OnShelf found;
  std::vector<Border> borders;
  disk::PageKey before =
      disk::FirstKey(identity_, static_cast<uint64_t>(NamespaceOf(*sequence.request)));
  for (int64_t begin = 0;; begin += kPage) {
    if (piece_count_ > 0 && begin > memory.cached && shelf_.HasTailBehind(before)) {
      borders.push_back({.key = before, .begin = begin, .pages = found.pages.size()});
    }
    if (begin + kPage > reusable) break;
    const auto page = tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(kPage));
    const disk::PageKey key = disk::NextKey(before, page);
    if (begin >= memory.in_pages / kPage * kPage) {
      if (!shelf_.Has(key)) break;
      found.pages.push_back(
          {.key = key, .before = before, .tokens = {page.begin(), page.end()}, .begin = begin});
      found.tokens = begin + kPage;
    }
    before = key;
  }
  return piece_count_ > 0 ? UpToState(std::move(found), borders, tokens) : found;
}

// Of what the shelf has of a prefix the part up to the last snapshot there, with it. Each place is
// a hash, so only places are looked at behind which there is one for somebody, and of these not
// more than take a millisecond: a client may leave snapshots behind any number of his pages.
PageTier::OnShelf PageTier::UpToState(OnShelf found, std::span<const Border> borders,
                                      std::span<const TokenId> tokens) const {
  borders = borders.last(std::min(borders.size(), kMostBorders));
  for (; !borders.empty(); borders = borders.first(borders.size() - 1)) {
    const Border& border = borders.back();
    const auto left = tokens.subspan(static_cast<size_t>(border.begin));
    const std::vector<ShelfPage> pieces = FindState(left, border);
    if (pieces.empty()) continue;
    found.tokens = pieces.front().begin;
    found.pages.resize(border.pages);
    found.pages.insert(found.pages.end(), pieces.begin(), pieces.end());
    return found;
  }
  return {};
}

// The pieces of the last state that the shelf has behind fewer than 32 of the tokens `left`.
std::vector<ShelfPage> PageTier::FindState(std::span<const TokenId> left,
                                           const Border& border) const {
  for (int64_t count = std::min<int64_t>(std::ssize(left), kPage - 1); count >= 0; --count) {
    const auto tail = left.first(static_cast<size_t>(count));
    const auto name = [&](int64_t pieces) {
      return StatePieces(border.key, tail, border.begin + count, pieces);
    };
    if (!shelf_.Has(name(1).front().key)) continue;
    std::vector<ShelfPage> pieces = name(piece_count_);
    const bool is_whole = std::all_of(pieces.begin(), pieces.end(), [this](const ShelfPage& piece) {
      return shelf_.Has(piece.key);
    });
    if (is_whole) return pieces;
  }
  return {};
}

PageTier::Errand* PageTier::ErrandOf(uint64_t order) {
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
  const int64_t pages =
      std::min<int64_t>(std::ssize(deliveries), (errand->pages_end - errand->next) / kPage);
  const int64_t wanted = errand->next + kPage * pages;
  Restore(errand, deliveries.first(static_cast<size_t>(pages)));
  const bool lost = errand->next < wanted;
  if (!lost) TakePieces(errand, deliveries.subspan(static_cast<size_t>(pages)));
  const bool is_last = errand->came == errand->records;
  if (is_last) {
    const int64_t tokens = std::ssize(errand->tokens) - errand->request->fetched_from;
    token_seconds_ = (clock_.Seconds() - errand->asked_seconds) / static_cast<double>(tokens);
  }
  if (missed || is_last || lost) End(errand);
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
  TraceEvicted(*errand, evicted);
  RequestState* request = errand->request;
  // With states nobody can go on from pages alone.
  if (piece_count_ == 0) request->fetched_to = std::max(request->fetched_to, errand->next);
}

void PageTier::TakePieces(Errand* errand, std::span<const Delivery> deliveries) {
  if (deliveries.empty()) return;
  pieces_.resize(static_cast<size_t>(piece_count_ * page_bytes_));
  for (const Delivery& delivery : deliveries) {
    const int64_t piece = delivery.index - (errand->records - piece_count_);
    std::copy(delivery.page.begin(), delivery.page.end(), pieces_.begin() + piece * page_bytes_);
  }
  if (errand->came == errand->records) RestoreState(errand);
}

void PageTier::RestoreState(Errand* errand) {
  const std::span<const std::byte> pieces = pieces_;
  const auto page = pieces.first(static_cast<size_t>(page_bytes_));
  const auto state = pieces.subspan(page.size(), static_cast<size_t>(network_.StateBytes()));
  const int64_t evicted = cache_.evicted_count();
  const bool restored = cache_.RestoreState(
      NamespaceOf(*errand->request), errand->tokens,
      [&](kv::PageId id) { network_.LoadPage(id, page); },
      [&](kv::StateId id) { network_.LoadState(id, 0, state); });
  TraceEvicted(*errand, evicted);
  if (!restored) return;
  ++stats_.states_restored;
  errand->request->fetched_to = std::ssize(errand->tokens);
}

void PageTier::TraceEvicted(const Errand& errand, int64_t evicted_before) {
  if (tracer_ == nullptr) return;
  tracer_->Evicted(*errand.request->lead(), cache_.evicted_count() - evicted_before);
}

void PageTier::PutAll() {
  shelf_.BePatient();
  cache_.Evict(cache_.pool().total_count());
}

}  // namespace skald::engine
