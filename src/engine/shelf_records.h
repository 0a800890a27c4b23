/// ShelfRecords: what a shelf keeps of a network, and under which names. All records are of one
/// length, so that one kind of buffer, one queue and one order do for all:
///
///     page     its K and V; of layers with windows only where these have as many pages as others
///     window   the window page of a page, in records as long as one of a page
///     state    the page where its place is, both parts of it, then the state, as one text of bytes
///
/// A page is named by the chain of keys (disk/page_key.h), and what is cut into several records by
/// a chain of its own: each by the one before it and its index. That of a window page begins with
/// the key of its page; that of a state with the key of the last whole page before its place and
/// the tokens behind, a tail (disk::IsTail). A state stands behind any token, so K and V of its
/// tail are with it: no other record has them, if the page was never whole.
///
/// A page without bytes, of a network that keeps nothing but windows or states, has no record.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/network.h"
#include "engine/page_shelf.h"
#include "kv/window_pool.h"

namespace skald::engine {

/// How many records, and of how many bytes.
struct RecordSizes {
  int64_t record_bytes = 0;  ///< of each; 0: the network keeps nothing
  int64_t tail_bytes = 0;    ///< of a state's record: both parts of a page
  int64_t window_bytes = 0;  ///< of a window page; 0: pages have none of their own
  int64_t state_bytes = 0;   ///< 0: the network has no states
  int64_t page = 0;          ///< records of a page: one or none
  int64_t window = 0;        ///< records of a window page
  int64_t state = 0;         ///< records of a state
};

/// `windows` as the pool of the network's pages has them. A record is as long as a page, or if that
/// has no bytes, as a window page, or as a part of a state.
RecordSizes RecordSizesOf(const Network& network, const kv::WindowLimits& windows);

/// The names of the records of the window page of the page `key`, behind `begin` tokens. O(count).
std::vector<ShelfPage> WindowRecords(const disk::PageKey& key, int64_t begin, int64_t count);

/// The names of the records of a state behind `end` tokens: those up to the page of key `before`,
/// and `tail`, fewer than a page has. O(count).
std::vector<ShelfPage> StateRecords(const disk::PageKey& before, std::span<const TokenId> tail,
                                    int64_t end, int64_t count);

}  // namespace skald::engine
