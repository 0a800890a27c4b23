#include "engine/shelf_search.h"

#include <algorithm>
#include <utility>

#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;
constexpr int64_t kNone = -1;

// A client may leave snapshots behind any number of his pages, and each place is a hash: so many
// borders, of 32 places each, take a millisecond.
constexpr int64_t kMostBorders = 64;

std::span<const TokenId> PageAt(std::span<const TokenId> tokens, int64_t index) {
  return tokens.subspan(static_cast<size_t>(index * kPage), static_cast<size_t>(kPage));
}

}  // namespace

int64_t ShelfSearch::Way::whole_in_memory() const { return memory.pages.tokens / kPage; }

OnShelf ShelfSearch::Find(kv::Namespace space, std::span<const TokenId> tokens,
                          const InMemory& memory) const {
  if (std::ssize(tokens) / kPage <= memory.cached / kPage) return {};
  const Way way = WayOf(space, tokens, memory);
  return sizes_.state > 0 ? UpToState(way) : UpToPage(way);
}

// As far as memory or the shelf has whole pages.
ShelfSearch::Way ShelfSearch::WayOf(kv::Namespace space, std::span<const TokenId> tokens,
                                    const InMemory& memory) const {
  Way way = {.tokens = tokens, .memory = memory, .keys = {}};
  way.keys.push_back(disk::FirstKey(identity_, static_cast<uint64_t>(space)));
  for (int64_t index = 0; (index + 1) * kPage <= std::ssize(tokens); ++index) {
    const disk::PageKey key = disk::NextKey(way.keys.back(), PageAt(tokens, index));
    const bool is_there = sizes_.page == 0 || index < way.whole_in_memory() || shelf_.Has(key);
    if (!is_there) break;
    way.keys.push_back(key);
  }
  return way;
}

// From the last page back to one behind which all is there.
OnShelf ShelfSearch::UpToPage(const Way& way) const {
  int64_t end = (std::ssize(way.keys) - 1) * kPage;
  while (end > way.memory.cached) {
    const int64_t missing = FirstWithoutWindow(way, end);
    if (missing == kNone) return UpTo(way, end);
    end = missing * kPage;
  }
  return {};
}

// From the last border behind which there is a state for somebody.
OnShelf ShelfSearch::UpToState(const Way& way) const {
  int64_t looked_at = 0;
  for (int64_t index = std::ssize(way.keys) - 1; index * kPage > way.memory.cached; --index) {
    const disk::PageKey& before = way.keys[static_cast<size_t>(index)];
    if (!shelf_.HasTailBehind(before)) continue;
    if (++looked_at > kMostBorders) break;
    const auto left = way.tokens.subspan(static_cast<size_t>(index * kPage));
    std::vector<ShelfPage> state = FindState(left, before, index * kPage);
    if (state.empty() || FirstWithoutWindow(way, state.front().begin) != kNone) continue;
    OnShelf found = UpTo(way, state.front().begin);
    std::move(state.begin(), state.end(), std::back_inserter(found.records));
    return found;
  }
  return {};
}

// The last state that the shelf has behind fewer than 32 of the tokens `left`.
std::vector<ShelfPage> ShelfSearch::FindState(std::span<const TokenId> left,
                                              const disk::PageKey& before, int64_t begin) const {
  for (int64_t count = std::min<int64_t>(std::ssize(left), kPage - 1); count >= 0; --count) {
    const auto tail = left.first(static_cast<size_t>(count));
    const auto records = [&](int64_t most) {
      return StateRecords(before, tail, begin + count, most);
    };
    if (!HasAll(records(1))) continue;
    std::vector<ShelfPage> all = records(sizes_.state);
    if (HasAll(all)) return all;
  }
  return {};
}

// The last whole page that the row at `end` sees and whose window page is neither in memory nor on
// the shelf; kNone: they are all there. Where the tail of a text stands in a page that is not whole
// in memory it is brought whole, with its window page.
int64_t ShelfSearch::FirstWithoutWindow(const Way& way, int64_t end) const {
  if (sizes_.window == 0) return kNone;
  for (const int64_t index : WindowsToBring(way, end)) {
    const disk::PageKey& key = way.keys[static_cast<size_t>(index) + 1];
    if (!HasAll(WindowRecords(key, index * kPage, sizes_.window))) return index;
  }
  return kNone;
}

// The whole pages that the row at `end` sees whose window pages are not in memory, the last first.
std::vector<int64_t> ShelfSearch::WindowsToBring(const Way& way, int64_t end) const {
  std::vector<int64_t> pages;
  int64_t index = end / kPage;
  while ((index = windows_.SeenBefore(index, end)) >= 0) {
    const bool in_memory =
        index < way.whole_in_memory() && way.memory.pages.windows[static_cast<size_t>(index)];
    if (!in_memory) pages.push_back(index);
  }
  return pages;
}

// What brings the pages of `end` tokens, and the window pages that the row there sees.
OnShelf ShelfSearch::UpTo(const Way& way, int64_t end) const {
  OnShelf found = {.tokens = end, .records = {}, .windows = {}};
  for (int64_t index = way.whole_in_memory(); sizes_.page > 0 && index < end / kPage; ++index) {
    const auto place = static_cast<size_t>(index);
    const std::span<const TokenId> page = PageAt(way.tokens, index);
    found.records.push_back({.key = way.keys[place + 1],
                             .before = way.keys[place],
                             .tokens = {page.begin(), page.end()},
                             .begin = index * kPage});
  }
  found.page_records = std::ssize(found.records);
  if (sizes_.window == 0) return found;
  found.windows = WindowsToBring(way, end);
  std::reverse(found.windows.begin(), found.windows.end());
  for (const int64_t index : found.windows) {
    const disk::PageKey& key = way.keys[static_cast<size_t>(index) + 1];
    for (ShelfPage& record : WindowRecords(key, index * kPage, sizes_.window)) {
      found.records.push_back(std::move(record));
    }
  }
  return found;
}

bool ShelfSearch::HasAll(std::span<const ShelfPage> records) const {
  return std::all_of(records.begin(), records.end(),
                     [this](const ShelfPage& record) { return shelf_.Has(record.key); });
}

}  // namespace skald::engine
