#include "engine/state_pieces.h"

#include "base/check.h"
#include "base/checked_math.h"

namespace skald::engine {

int64_t StatePieceCount(int64_t state_bytes, int64_t page_bytes) {
  return 1 + DivCeil(state_bytes, page_bytes);
}

std::vector<ShelfPage> StatePieces(const disk::PageKey& before, std::span<const TokenId> tail,
                                   int64_t end, int64_t count) {
  CHECK(std::ssize(tail) < disk::kKeyTokens);
  std::vector<ShelfPage> pieces;
  ShelfPage piece = {.before = before, .tokens = {tail.begin(), tail.end()}, .begin = end};
  piece.tokens.resize(static_cast<size_t>(disk::kKeyTokens), kNoToken);
  while (true) {
    piece.key = disk::NextKey(piece.before, piece.tokens);
    pieces.push_back(piece);
    if (std::ssize(pieces) == count) return pieces;
    piece.before = piece.key;
    piece.tokens.assign(piece.tokens.size(), static_cast<TokenId>(pieces.size()));
  }
}

}  // namespace skald::engine
