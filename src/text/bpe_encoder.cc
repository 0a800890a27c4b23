#include "text/bpe_encoder.h"

#include <string>

#include "base/status_macros.h"
#include "text/byte_level.h"
#include "text/bytes_hash.h"

namespace skald::text {

namespace {

// Up to this many bytes, looking through all pairs for each merge is faster than a heap: nearly
// all pieces of real text are words. Measured on English and on source code: 16 to 64 are equal.
constexpr size_t kShortPieceBytes = 32;

Status BadMerge(uint32_t rank, std::string_view line, const std::string& what) {
  return Status(ErrorCode::kBadModel, "merge " + std::to_string(rank) + " '" +
                                          std::string(line.substr(0, 64)) + "': " + what);
}

// The bytes that a half of a merge means; as Vocab does it for normal tokens.
std::string DecodeHalf(std::string_view text) {
  std::string bytes;
  if (!AppendByteLevelDecoded(text, &bytes)) bytes = text;
  return bytes;
}

}  // namespace

MergeTable::MergeTable(size_t count, uint64_t key) : key_(key) {
  size_t size = 2;
  while (2 * size < 3 * count) size *= 2;
  slots_.resize(size);
}

void MergeTable::Insert(TokenId left, TokenId right, Merge merge) {
  const size_t mask = slots_.size() - 1;
  for (size_t at = HashPair(left, right, key_) & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.left == kNoToken) {
      slot = {left, right, merge.rank, merge.id};
      return;
    }
    if (slot.left == left && slot.right == right) return;
  }
}

std::optional<Merge> MergeTable::Find(TokenId left, TokenId right) const {
  if (left == kNoToken) return std::nullopt;
  const size_t mask = slots_.size() - 1;
  for (size_t at = HashPair(left, right, key_) & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.left == left && slot.right == right) return Merge{slot.rank, slot.id};
    if (slot.left == kNoToken) return std::nullopt;
  }
}

BpeEncoder::BpeEncoder(const Vocab& vocab, TokenId unk, WholePieces whole_pieces)
    : vocab_(&vocab),
      unk_(unk),
      whole_pieces_(whole_pieces),
      products_(static_cast<size_t>(vocab.size()), false) {
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    const TokenId id = vocab.FindMatchable(std::string_view(&c, 1));
    byte_ids_[byte] = id != kNoToken ? id : vocab.ByteToken(static_cast<uint8_t>(byte));
  }
}

Result<BpeEncoder> BpeEncoder::Create(const Vocab& vocab, TokenId unk,
                                      std::span<const std::string_view> merges,
                                      WholePieces whole_pieces) {
  if (merges.size() > kMaxMerges) {
    return Status(ErrorCode::kBadModel, "the vocabulary has too many merges: at most " +
                                            std::to_string(kMaxMerges) + ", found " +
                                            std::to_string(merges.size()));
  }
  BpeEncoder encoder(vocab, unk, whole_pieces);
  encoder.merges_ = MergeTable(merges.size() + 1, vocab.hash_key());
  for (uint32_t rank = 0; rank < merges.size(); ++rank) {
    RETURN_IF_ERROR(encoder.AddMerge(merges[rank], rank));
  }
  return encoder;
}

Status BpeEncoder::AddMerge(std::string_view line, uint32_t rank) {
  // From the second byte on: llama.cpp allows a left half that is itself a space.
  const size_t space = line.find(' ', 1);
  if (space == std::string_view::npos) {
    return BadMerge(rank, line, "expected two tokens with a space between them, found no space");
  }
  const std::string_view left_text = line.substr(0, space);
  const std::string_view right_text = line.substr(space + 1);
  if (left_text.empty() || right_text.empty()) {
    return BadMerge(rank, line, "expected two tokens with a space between them, found one");
  }
  std::string bytes = DecodeHalf(left_text);
  const TokenId left = vocab_->Find(bytes);
  if (left == kNoToken) return BadMerge(rank, line, "its left half is not in the vocabulary");
  const std::string right_bytes = DecodeHalf(right_text);
  const TokenId right = vocab_->Find(right_bytes);
  if (right == kNoToken) return BadMerge(rank, line, "its right half is not in the vocabulary");
  bytes += right_bytes;
  const TokenId id = vocab_->Find(bytes);
  if (id == kNoToken) return BadMerge(rank, line, "its result is not in the vocabulary");
  if (!vocab_->Matchable(id)) return Ok();
  merges_.Insert(left, right, {rank, id});
  products_[static_cast<size_t>(id)] = true;
  return Ok();
}

Status BpeEncoder::Encode(std::string_view piece, MergeScratch* scratch,
                          std::vector<TokenId>* out) const {
  if (piece.empty()) return Ok();
  if (whole_pieces_ == WholePieces::kTakeWhole) {
    const TokenId id = vocab_->FindMatchable(piece);
    if (id != kNoToken) {
      out->push_back(id);
      return Ok();
    }
  }
  if (piece.size() <= kShortPieceBytes) {
    MergeShort(piece, scratch);
    for (const Symbol& symbol : scratch->symbols) {
      RETURN_IF_ERROR(
          Append(symbol.id, static_cast<uint8_t>(piece[static_cast<size_t>(symbol.begin)]), out));
    }
    return Ok();
  }
  MergeLong(piece, scratch);
  for (int32_t i = 0; i >= 0; i = scratch->symbols[static_cast<size_t>(i)].next) {
    const Symbol& symbol = scratch->symbols[static_cast<size_t>(i)];
    RETURN_IF_ERROR(
        Append(symbol.id, static_cast<uint8_t>(piece[static_cast<size_t>(symbol.begin)]), out));
  }
  return Ok();
}

// Takes the definition literally, but keeps the rank of each pair: looking it up is the cost.
void BpeEncoder::MergeShort(std::string_view piece, MergeScratch* scratch) const {
  constexpr uint32_t kNoRank = UINT32_MAX;  // above every index of a merge
  struct Part {
    TokenId id = kNoToken;
    int32_t begin = 0;
    uint32_t rank = kNoRank;  // of the pair that begins here
    TokenId merged = kNoToken;
  };
  Part parts[kShortPieceBytes];
  size_t count = piece.size();
  const auto rank_pair = [&](size_t i) {
    parts[i].rank = kNoRank;
    if (i + 1 >= count) return;
    if (const auto merge = merges_.Find(parts[i].id, parts[i + 1].id)) {
      parts[i].rank = merge->rank;
      parts[i].merged = merge->id;
    }
  };
  for (size_t i = 0; i < count; ++i) {
    parts[i].id = byte_ids_[static_cast<uint8_t>(piece[i])];
    parts[i].begin = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < count; ++i) rank_pair(i);
  while (true) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (parts[i].rank < parts[best].rank) best = i;
    }
    if (parts[best].rank == kNoRank) break;
    parts[best].id = parts[best].merged;
    for (size_t i = best + 1; i + 1 < count; ++i) parts[i] = parts[i + 1];
    --count;
    rank_pair(best);
    if (best > 0) rank_pair(best - 1);
  }
  scratch->symbols.resize(count);
  for (size_t i = 0; i < count; ++i) {
    scratch->symbols[i] = {.begin = parts[i].begin, .id = parts[i].id};
  }
}

void BpeEncoder::MergeLong(std::string_view piece, MergeScratch* scratch) const {
  std::vector<Symbol>& symbols = scratch->symbols;
  symbols.clear();
  for (size_t i = 0; i < piece.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    symbols.push_back({.begin = index,
                       .length = 1,
                       .prev = index - 1,
                       .next = index + 1,
                       .id = byte_ids_[static_cast<uint8_t>(piece[i])]});
  }
  symbols.back().next = -1;
  MergeSymbols(
      [this](const Symbol& left, const Symbol& right) { return merges_.Find(left.id, right.id); },
      scratch);
}

Status BpeEncoder::Append(TokenId id, uint8_t byte, std::vector<TokenId>* out) const {
  if (id == kNoToken) id = unk_;  // only single bytes can lack a token
  if (id == kNoToken) {
    return Status(ErrorCode::kInvalidArgument, "the vocabulary has no token for the byte " +
                                                   std::to_string(byte) + " and no unknown token");
  }
  out->push_back(id);
  return Ok();
}

}  // namespace skald::text
