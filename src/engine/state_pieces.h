/// StatePieces: the names under which a shelf keeps a state: in pieces as long as a page, so that
/// one kind of record, one queue and one order do for both.
///
///     pieces   page | state ... state, filled up
///
/// A state stands behind any token. So the first piece is the page where its place is, of which the
/// positions before the place count; no other record has them, if the page was never whole. It is
/// named by the key of the last whole page and the tokens behind, a tail (disk::IsTail), and each
/// other piece by the one before it and its index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/page_shelf.h"

namespace skald::engine {

/// Pieces of a state of `state_bytes` > 0 in pages of `page_bytes` > 0.
int64_t StatePieceCount(int64_t state_bytes, int64_t page_bytes);

/// The names of the pieces of a state behind `end` tokens: those up to the page of key `before`,
/// and `tail`, fewer than a page has. O(count).
std::vector<ShelfPage> StatePieces(const disk::PageKey& before, std::span<const TokenId> tail,
                                   int64_t end, int64_t count);

}  // namespace skald::engine
