#include "engine/shelf_records.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked_math.h"

namespace skald::engine {
namespace {

// Of a network without K and V: a state of 63 MiB is some dozens then.
constexpr int64_t kMostOfState = int64_t{1} << 20;
// What no page has for tokens, and no tail.
constexpr TokenId kOfWindow = -2;
static_assert(kOfWindow != kNoToken);

// `first`, and behind it each record by the one before it and its index.
std::vector<ShelfPage> Chain(ShelfPage first, int64_t count) {
  std::vector<ShelfPage> records;
  while (true) {
    first.key = disk::NextKey(first.before, first.tokens);
    records.push_back(first);
    if (std::ssize(records) == count) return records;
    first.before = first.key;
    first.tokens.assign(first.tokens.size(), static_cast<TokenId>(records.size()));
  }
}

}  // namespace

RecordSizes RecordSizesOf(const Network& network, const kv::WindowLimits& windows) {
  const int64_t full = network.PageBytes(kv::PageGroup::kFull);
  const int64_t window = network.PageBytes(kv::PageGroup::kWindow);
  RecordSizes sizes = {.tail_bytes = full + window, .state_bytes = network.StateBytes()};
  if (windows.pages > 0) sizes.window_bytes = window;
  const int64_t page = sizes.tail_bytes - sizes.window_bytes;
  const int64_t parts[] = {page, sizes.window_bytes, std::min(sizes.state_bytes, kMostOfState)};
  const int64_t* longest = std::find_if(parts, parts + 3, [](int64_t bytes) { return bytes > 0; });
  if (longest == parts + 3) return sizes;
  sizes.record_bytes = *longest;
  sizes.page = page > 0 ? 1 : 0;
  sizes.window = DivCeil(sizes.window_bytes, sizes.record_bytes);
  if (sizes.state_bytes > 0) {
    sizes.state = DivCeil(sizes.tail_bytes + sizes.state_bytes, sizes.record_bytes);
  }
  return sizes;
}

std::vector<ShelfPage> WindowRecords(const disk::PageKey& key, int64_t begin, int64_t count) {
  ShelfPage first = {.before = key, .tokens = {}, .begin = begin};
  first.tokens.assign(static_cast<size_t>(disk::kKeyTokens), kOfWindow);
  return Chain(std::move(first), count);
}

std::vector<ShelfPage> StateRecords(const disk::PageKey& before, std::span<const TokenId> tail,
                                    int64_t end, int64_t count) {
  CHECK(std::ssize(tail) < disk::kKeyTokens);
  ShelfPage first = {.before = before, .tokens = {tail.begin(), tail.end()}, .begin = end};
  first.tokens.resize(static_cast<size_t>(disk::kKeyTokens), kNoToken);
  return Chain(std::move(first), count);
}

}  // namespace skald::engine
