#include "text/bpe_encoder.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/bytes_hash.h"
#include "text/token_index.h"

namespace skald::text {

namespace {

// Up to this many bytes, looking through all pairs for each merge is faster than a heap: nearly
// all pieces of real text are words. Measured on English and on source code: 16 to 64 are equal.
constexpr size_t kShortPieceBytes = 32;

Status BadMerge(size_t rank, std::string_view line, const std::string& what) {
  return Status(ErrorCode::kBadModel, "merge " + std::to_string(rank) + " '" +
                                          std::string(line.substr(0, 64)) + "': " + what);
}

// Looks up the two halves and the result of each merge, by their text in the file.
class MergeReader {
 public:
  // Merges that are looked up together, so that their waits for memory overlap.
  static constexpr size_t kBatch = 32;

  struct Resolved {
    TokenId left, right, result;
  };

  MergeReader(const TokenizerSpec& spec, uint64_t key)
      : spec_(spec), index_(spec.tokens.size(), key) {
    for (TokenId id = 0; id < static_cast<TokenId>(spec.tokens.size()); ++id) {
      if (!TextOf(id).empty()) index_.InsertOrFind(id, [this](TokenId i) { return TextOf(i); });
    }
  }

  // Resolves merges `first` and up, at most kBatch, into the front of `out`.
  Status Read(size_t first, std::span<Resolved> out) {
    for (size_t i = 0; i < out.size(); ++i) RETURN_IF_ERROR(Cut(first + i, &lines_[i]));
    for (size_t i = 0; i < out.size(); ++i) {
      for (Part* part : {&lines_[i].left, &lines_[i].right, &lines_[i].result}) {
        const TokenId candidate = index_.FirstCandidate(part->hash);
        if (candidate != kNoToken) __builtin_prefetch(TextOf(candidate).data());
      }
    }
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = {Find(lines_[i].left), Find(lines_[i].right), Find(lines_[i].result)};
      const char* missing = out[i].left == kNoToken     ? "left half"
                            : out[i].right == kNoToken  ? "right half"
                            : out[i].result == kNoToken ? "result"
                                                        : nullptr;
      if (missing != nullptr) {
        return BadMerge(first + i, spec_.merges[first + i],
                        "its " + std::string(missing) + " is not in the vocabulary");
      }
    }
    return Ok();
  }

 private:
  struct Part {
    std::string_view text;
    uint64_t hash = 0;
  };
  struct Line {
    Part left, right, result;
    std::string joined;  // what result.text points into
  };

  std::string_view TextOf(TokenId id) const { return spec_.tokens[static_cast<size_t>(id)]; }

  Status Cut(size_t rank, Line* line) const {
    const std::string_view text = spec_.merges[rank];
    // From the second byte on: llama.cpp allows a left half that is itself a space.
    const size_t space = text.find(' ', 1);
    if (space == std::string_view::npos) {
      return BadMerge(rank, text, "expected two tokens with a space between them, found no space");
    }
    if (space + 1 == text.size()) {
      return BadMerge(rank, text, "expected two tokens with a space between them, found one");
    }
    line->joined.assign(text.substr(0, space));
    line->joined.append(text.substr(space + 1));
    Prepare(text.substr(0, space), &line->left);
    Prepare(text.substr(space + 1), &line->right);
    Prepare(line->joined, &line->result);
    return Ok();
  }

  void Prepare(std::string_view text, Part* part) const {
    *part = {text, index_.Hash(text)};
    index_.Prefetch(part->hash);
  }

  TokenId Find(const Part& part) const {
    return index_.Find(part.hash, part.text, [this](TokenId id) { return TextOf(id); });
  }

  const TokenizerSpec& spec_;
  TokenIndex index_;
  std::array<Line, kBatch> lines_;
};

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

void MergeTable::Prefetch(TokenId left, TokenId right) const {
  __builtin_prefetch(&slots_[HashPair(left, right, key_) & (slots_.size() - 1)]);
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

BpeEncoder::BpeEncoder(const Vocab& vocab, TokenId unk, const PreTokenizerRule& rule)
    : vocab_(&vocab),
      unk_(unk),
      whole_pieces_(rule.whole_pieces),
      alphabet_(rule.alphabet),
      products_(static_cast<size_t>(vocab.size()), false) {
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    const TokenId id = vocab.FindMatchable(std::string_view(&c, 1));
    byte_ids_[byte] = id != kNoToken ? id : vocab.ByteToken(static_cast<uint8_t>(byte));
  }
}

Result<BpeEncoder> BpeEncoder::Create(const Vocab& vocab, TokenId unk, const TokenizerSpec& spec,
                                      const PreTokenizerRule& rule) {
  const size_t count = spec.merges.size();
  if (count > kMaxMerges) {
    return Status(ErrorCode::kBadModel, "the vocabulary has too many merges: at most " +
                                            std::to_string(kMaxMerges) + ", found " +
                                            std::to_string(count));
  }
  BpeEncoder encoder(vocab, unk, rule);
  encoder.merges_ = MergeTable(count + 1, vocab.hash_key());
  MergeReader reader(spec, vocab.hash_key());
  std::array<MergeReader::Resolved, MergeReader::kBatch> batch;
  for (size_t first = 0; first < count; first += batch.size()) {
    const auto resolved = std::span(batch).first(std::min(batch.size(), count - first));
    RETURN_IF_ERROR(reader.Read(first, resolved));
    for (const auto& merge : resolved) encoder.merges_.Prefetch(merge.left, merge.right);
    for (size_t i = 0; i < resolved.size(); ++i) {
      const auto& [left, right, result] = resolved[i];
      encoder.AddMerge(left, right, {static_cast<uint32_t>(first + i), result});
    }
  }
  return encoder;
}

void BpeEncoder::AddMerge(TokenId left, TokenId right, Merge merge) {
  if (!vocab_->Matchable(merge.id)) return;
  merges_.Insert(left, right, merge);
  products_[static_cast<size_t>(merge.id)] = true;
}

Status BpeEncoder::Encode(std::string_view piece, MergeScratch* scratch,
                          std::vector<TokenId>* out) const {
  if (piece.empty()) return Ok();
  if (!scratch->pace.Go(piece.size())) return Pace::Stopped();
  if (IsWholeByRule(piece)) {
    const TokenId id = vocab_->FindMatchable(piece);
    if (id != kNoToken) {
      out->push_back(id);
      return Ok();
    }
  }
  const auto append = [&](const Symbol& symbol) {
    Append(symbol.id,
           piece.substr(static_cast<size_t>(symbol.begin), static_cast<size_t>(symbol.length)),
           out);
  };
  if (piece.size() <= kShortPieceBytes) {
    MergeShort(piece, scratch);
    for (const Symbol& symbol : scratch->symbols) append(symbol);
    return Ok();
  }
  if (!MergeLong(piece, scratch)) return Pace::Stopped();
  for (int32_t i = 0; i >= 0; i = scratch->symbols[static_cast<size_t>(i)].next) {
    append(scratch->symbols[static_cast<size_t>(i)]);
  }
  return Ok();
}

bool BpeEncoder::IsWholeByRule(std::string_view piece) const {
  if (whole_pieces_ == WholePieces::kTakeWhole) return true;
  return whole_pieces_ == WholePieces::kTakeNewlines &&
         piece.find_first_not_of('\n') == std::string_view::npos;
}

// Bytes of the first symbol of `piece`. What is no character is one symbol as far as it goes.
size_t BpeEncoder::FirstLength(std::string_view piece) const {
  return alphabet_ == Alphabet::kBytes ? 1 : static_cast<size_t>(ReadUtf8(piece).length);
}

TokenId BpeEncoder::FirstToken(std::string_view character) const {
  if (alphabet_ == Alphabet::kBytes) return byte_ids_[static_cast<uint8_t>(character[0])];
  return vocab_->FindMatchable(character);
}

// Takes the definition literally, but keeps the rank of each pair: looking it up is the cost.
void BpeEncoder::MergeShort(std::string_view piece, MergeScratch* scratch) const {
  constexpr uint32_t kNoRank = UINT32_MAX;  // above every index of a merge
  struct Part {
    TokenId id = kNoToken;
    int32_t begin = 0;
    int32_t length = 0;
    uint32_t rank = kNoRank;  // of the pair that begins here
    TokenId merged = kNoToken;
  };
  Part parts[kShortPieceBytes];
  size_t count = 0;
  const auto rank_pair = [&](size_t i) {
    parts[i].rank = kNoRank;
    if (i + 1 >= count) return;
    if (const auto merge = merges_.Find(parts[i].id, parts[i + 1].id)) {
      parts[i].rank = merge->rank;
      parts[i].merged = merge->id;
    }
  };
  for (size_t at = 0; at < piece.size(); ++count) {
    const size_t length = FirstLength(piece.substr(at));
    parts[count].id = FirstToken(piece.substr(at, length));
    parts[count].begin = static_cast<int32_t>(at);
    parts[count].length = static_cast<int32_t>(length);
    at += length;
  }
  for (size_t i = 0; i < count; ++i) rank_pair(i);
  while (true) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (parts[i].rank < parts[best].rank) best = i;
    }
    if (parts[best].rank == kNoRank) break;
    parts[best].id = parts[best].merged;
    parts[best].length += parts[best + 1].length;
    for (size_t i = best + 1; i + 1 < count; ++i) parts[i] = parts[i + 1];
    --count;
    rank_pair(best);
    if (best > 0) rank_pair(best - 1);
  }
  scratch->symbols.resize(count);
  for (size_t i = 0; i < count; ++i) {
    scratch->symbols[i] = {.begin = parts[i].begin, .length = parts[i].length, .id = parts[i].id};
  }
}

bool BpeEncoder::MergeLong(std::string_view piece, MergeScratch* scratch) const {
  std::vector<Symbol>& symbols = scratch->symbols;
  symbols.clear();
  for (size_t at = 0; at < piece.size();) {
    const size_t length = FirstLength(piece.substr(at));
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({.begin = static_cast<int32_t>(at),
                       .length = static_cast<int32_t>(length),
                       .prev = index - 1,
                       .next = index + 1,
                       .id = FirstToken(piece.substr(at, length))});
    at += length;
  }
  symbols.back().next = -1;
  return MergeSymbols(
      [this](const Symbol& left, const Symbol& right) { return merges_.Find(left.id, right.id); },
      scratch);
}

bool BpeEncoder::Spells(std::string_view piece) const {
  return std::all_of(piece.begin(), piece.end(),
                     [this](char c) { return byte_ids_[static_cast<uint8_t>(c)] != kNoToken; });
}

void BpeEncoder::Append(TokenId id, std::string_view bytes, std::vector<TokenId>* out) const {
  if (id != kNoToken) {
    out->push_back(id);
  } else if (Spells(bytes)) {  // a character without a token
    for (const char c : bytes) out->push_back(byte_ids_[static_cast<uint8_t>(c)]);
  } else if (unk_ != kNoToken) {
    out->push_back(unk_);
  }
}

}  // namespace skald::text
