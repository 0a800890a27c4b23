/// MaskWalk: a walk over the tree of tokens, with the recogniser beside it.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/form.h"
#include "grammar/limits.h"
#include "grammar/recognizer.h"
#include "grammar/token_trie.h"

namespace skald::grammar {

/// Up to so many steps of a row it is far from the bounds of a row. What goes on behind a leaf is
/// made apart from what the leaf itself makes alive there; near the bounds only both together tell
/// whether that is too complex.
inline constexpr int64_t kLightSteps = 500;
static_assert(kLightSteps < static_cast<int64_t>(kRowItemsMax) / 2);

/// One mask. A byte costs a row of the recogniser, but inside of a leaf, or of the key of an
/// object where any key may come, it costs a look-up. The same row behind the same byte is made
/// once: most tokens that leave a string go on in the same few ways.
class MaskWalk {
 public:
  /// Both outlive the walk.
  MaskWalk(const Form& form, std::span<uint64_t> words);

  /// Counts steps of other work for the mask; false as Run.
  bool Spend(int64_t steps);

  /// Sets the bit of each token of `trie` that may follow `row`. All walks of one mask together
  /// take at most kMaskSteps; false if that is not enough.
  bool Run(const TokenTrie& trie, const RowPointer& row);

  /// As Run, where `row` is inside of a key and no token of `trie` may end two keys: what goes on
  /// behind the key is then made once for all tokens that end it.
  bool RunInKey(const TokenTrie& trie, const RowPointer& row);

 private:
  // A way into an automaton of bytes, and what may follow where it ends.
  struct Inside {
    Item item = {};              // where the walk came into it
    const Leaf* leaf = nullptr;  // of the item, or the keys of its object
    const Object* keys = nullptr;
    uint64_t used_keys = 0;       // keys that came and begin as this one, or more
    size_t depth = 0;             // bytes of the walk up to there
    RowPointer behind = nullptr;  // what goes on where the leaf ends; made when it is needed
    std::bitset<256> behind_bytes = {};
  };
  // Bytes that lead nowhere from a row, as far as they were asked for. All slices of the tokens
  // ask the first row for the same ones. It keeps the row's address its own.
  struct Dead {
    RowPointer row;
    std::bitset<256> bytes;
  };
  // Behind some bytes: a row, or a state of what `inside` names.
  struct Place {
    RowPointer row = nullptr;
    Dead* dead = nullptr;  // of the first row; of others where they have more than few items
    uint32_t inside = kNone;
    uint32_t state = 0;
    uint32_t count = 0;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};

  enum class Step : uint8_t { kDead, kAlive, kTooComplex };

  void MakeRoom(size_t depth);
  bool Walk(const TokenTrie& trie);
  bool WalkFrom(const TokenTrie& trie, uint32_t root);
  Step Read(size_t depth, uint8_t byte);
  Step ReadLeaf(size_t depth, uint8_t byte);
  Step ReadKey(size_t depth, uint8_t byte);
  Step EndKey(size_t depth, uint32_t member, uint8_t byte);
  Step SetRow(size_t depth, RowPointer row);
  void EnterIfInside(size_t depth);
  bool EnterKey(const Item& item, Inside* inside) const;
  bool StaysInKey(const Inside& inside, uint32_t next, size_t depth) const;
  const Inside* Behind(Inside* inside);
  Step ReadRow(size_t depth, uint8_t byte);
  Dead* DeadOf(const RowPointer& row);
  RowPointer Next(const RowPointer& row, uint8_t byte);
  Item LeafItem(const Place& place) const;
  Item KeyItem(size_t depth) const;
  void Allow(std::span<const TokenId> tokens);

  // A row behind a byte that was made before, with the row it was made from, which keeps the
  // address its own.
  struct Made {
    RowPointer from;
    RowPointer row;
  };

  const Form& form_;
  const std::span<uint64_t> words_;
  int64_t steps_ = 0;
  std::vector<Place> places_;    // [bytes read]
  std::vector<Inside> insides_;  // [bytes read when it was entered]
  std::vector<char> path_;       // the bytes read
  std::unordered_map<uint64_t, Made> made_;
  std::unordered_map<const Row*, Dead> dead_;
  bool ends_one_key_ = false;                           // RunInKey
  std::unordered_map<uint32_t, RowPointer> key_ended_;  // by member, of the key of the first row
};

}  // namespace skald::grammar
