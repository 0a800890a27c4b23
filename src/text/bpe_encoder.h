/// BpeEncoder: BPE by a list of merges, over bytes or over characters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "text/merge.h"
#include "text/pre_tokenizer_rules.h"
#include "text/vocab.h"

namespace skald::text {

/// Which pairs of tokens merge, how urgently, and into what: an open hash table.
class MergeTable {
 public:
  MergeTable() = default;
  MergeTable(size_t count, uint64_t key);

  /// Inserts a merge unless the pair is there already: of merges listed twice the first counts.
  void Insert(TokenId left, TokenId right, Merge merge);
  std::optional<Merge> Find(TokenId left, TokenId right) const;
  /// Tells the processor that the pair will be inserted or looked for soon.
  void Prefetch(TokenId left, TokenId right) const;

 private:
  struct Slot {
    TokenId left = kNoToken;  // kNoToken: the slot is free
    TokenId right = kNoToken;
    uint32_t rank = 0;
    TokenId id = kNoToken;
  };
  std::vector<Slot> slots_;  // a power of two, at most two thirds full
  uint64_t key_ = 0;
};

/// Merges the bytes or characters of a piece by the merge list of the vocabulary: earliest listed
/// first, then leftmost. Pieces come from a PreTokenizer. Immutable; thread-safe.
class BpeEncoder {
 public:
  /// Reads the merges of `spec` ("left right" in the spelling of the file, each half a token, and
  /// both together a token). `vocab` is the vocabulary made from `spec` and must outlive the
  /// encoder; `unk` may be kNoToken. A merge that would form a token that text must not become (a
  /// control token) is left out. Errors, all kBadModel with the index of the merge: more than
  /// kMaxMerges; no space between the halves; an empty half; a half or result that is not in the
  /// vocabulary (Hugging Face's library refuses that too).
  static Result<BpeEncoder> Create(const Vocab& vocab, TokenId unk, const TokenizerSpec& spec,
                                   const PreTokenizerRule& rule);

  /// Appends the tokens of `piece`. A byte that has no token, or a character without one of which a
  /// byte has none, becomes the unknown token, or nothing where there is none. Time O(n log n).
  /// Errors: kCancelled if the scratch's pace ended it.
  Status Encode(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const;

  /// True if `piece` can be spelled without the unknown token.
  bool Spells(std::string_view piece) const;

  /// True if some merge forms `id`, i.e. if ordinary text can become it.
  bool IsMergeProduct(TokenId id) const { return products_[static_cast<size_t>(id)]; }

 private:
  BpeEncoder(const Vocab& vocab, TokenId unk, const PreTokenizerRule& rule);
  void AddMerge(TokenId left, TokenId right, Merge merge);
  void MergeShort(std::string_view piece, MergeScratch* scratch) const;
  bool MergeLong(std::string_view piece, MergeScratch* scratch) const;
  bool IsWholeByRule(std::string_view piece) const;
  size_t FirstLength(std::string_view piece) const;
  TokenId FirstToken(std::string_view character) const;
  void Append(TokenId id, std::string_view bytes, std::vector<TokenId>* out) const;

  const Vocab* vocab_;
  TokenId unk_;
  WholePieces whole_pieces_;
  Alphabet alphabet_;
  std::array<TokenId, 256> byte_ids_;
  MergeTable merges_;
  std::vector<bool> products_;
};

}  // namespace skald::text
