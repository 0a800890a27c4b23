/// MaskWalk: a walk over the tree of tokens, with the recogniser beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/lazy_dfa.h"
#include "grammar/recognizer.h"
#include "grammar/token_trie.h"

namespace skald::grammar {

/// One mask. A byte costs a row of the recogniser where none was made for it before, but inside of
/// a leaf, or of the key of an object where any key may come, it costs a look-up.
class MaskWalk {
 public:
  /// All outlive the walk.
  MaskWalk(const Form& form, std::span<uint64_t> words, Fuel* work);

  /// Counts steps that the mask took elsewhere; false as Run.
  bool Spend(int64_t steps);

  /// Sets the bit of each token of `trie` that may follow `row`. All walks of one mask together
  /// take at most kMaskSteps; false if that is not enough, or `work` ran dry.
  bool Run(const TokenTrie& trie, const RowPointer& row);

  /// As Run, where `row` is inside of a key and no token of `trie` may end two keys: what goes on
  /// behind the key is then made once for all tokens that end it.
  bool RunInKey(const TokenTrie& trie, const RowPointer& row);

 private:
  // Behind some bytes: a state of the rows; inside of its leaf, if it has one, the state of that,
  // too.
  struct Place {
    LazyDfa::State* at = nullptr;
    uint32_t depth = 0;  // bytes of the walk when the leaf was entered
    uint32_t state = 0;  // of a row that begins in blanks, its first item's: more may have come
    uint32_t count = 0;
  };

  enum class Step : uint8_t { kDead, kAlive, kTooComplex };

  void MakeRoom(size_t depth);
  TokenTrie::Then Visit(const TokenTrie& trie, size_t depth, uint32_t node);
  Step Read(size_t depth, uint8_t byte);
  Step ReadRow(size_t depth, uint8_t byte);
  Step ReadBlank(size_t depth, uint8_t byte);
  Step ReadLeaf(size_t depth, uint8_t byte);
  Step ReadKey(size_t depth, uint8_t byte);
  Step EndKey(size_t depth, uint32_t member, uint8_t byte);
  Step Enter(size_t depth, LazyDfa::State* state);
  Step EnterPassing(size_t depth, RowPointer row);
  Step StayInside(size_t depth, uint32_t state, uint32_t count);
  bool StaysInKey(const Place& place, uint32_t next, size_t depth) const;
  Item LeafItem(const Place& place) const;
  Item KeyItem(size_t depth) const;
  int64_t Steps() const { return steps_ + dfa_.steps(); }
  bool MayGoOn();
  void Allow(std::span<const TokenId> tokens);

  const Form& form_;
  const std::span<uint64_t> words_;
  Fuel& work_;
  int64_t steps_ = 0;
  int64_t seen_steps_ = 0;  // of them, those that the fuel knows of
  LazyDfa dfa_;
  std::vector<Place> places_;  // [bytes read]
  // [bytes read], where it is none that is kept. A deque, which grows without moving any: places
  // point to them, and the walk makes room while it goes.
  std::deque<LazyDfa::State> passing_;
  std::vector<char> path_;                                   // the bytes read
  bool ends_one_key_ = false;                                // RunInKey
  std::unordered_map<uint32_t, LazyDfa::State*> key_ended_;  // by member, of the first row's key
};

}  // namespace skald::grammar
