/// LeafMask: what the tokens do from one state of a leaf on, whatever stands around the leaf; and
/// the same for the key of an object, where any key may come.
///
/// A token stays inside of the leaf, or dies there, or leaves it at an end. Only what the last ones
/// do behind the end hangs on the rules above. After Y. Dong and others, "XGrammar", 2024; but each
/// is made when it is first needed, never beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/plain_states.h"
#include "grammar/token_table.h"
#include "grammar/token_trie.h"

namespace skald::grammar {

/// A state of a rule that is a leaf, or of the keys of one that is an object.
struct LeafState {
  uint32_t rule;
  uint32_t state;
  StateRoom plain = {};
  KeysLeft keys = KeysLeft::kMany;  ///< of an object; a bare one has many
};

struct LeafMask {
  std::vector<uint64_t> inside = {};  ///< tokens that stay
  /// What tokens that leave add behind the end of the leaf. A token that is in many ends, as in
  /// `[a-z]+`, is there more than once. Of a key the tokens themselves, whole.
  TokenTrie leaving = {};
  size_t longest = 0;  ///< bytes that a token that stays adds, at most
  int64_t steps = 0;   ///< that it took to make
  /// Very many ways to leave: the mask says nothing then.
  bool too_many = false;
  /// Of a key: whether a token may end it and another key behind it.
  bool ends_two_keys = false;

  size_t bytes() const;
};

/// The mask of `place`; null if `work` ran dry before. Of a leaf:
///
/// Counts of a counted leaf are not looked at: there is room for any token, and it may end. A state
/// where the leaf may end is no end of its own here: no token leaves before its first byte.
///
/// Of the keys of an object:
///
/// From a state of keys on where many that are not declared may follow (KeysLeft::kMany; not more
/// than Object::kManyKeys came), or any, if none of those behind the state came (kAny). Requires
/// that such a key may come (KeyRules::TakesFreeKeys) and has room for `longest` more bytes. Which
/// keys came before says nothing of tokens that stay; of those that may end the key the recogniser
/// is asked.
std::shared_ptr<const LeafMask> MakeMask(const Form& form, const TokenTable& tokens,
                                         const LeafState& place, Fuel* work);

/// Those of one constraint that were needed, beside common ones (common_masks.h). For any number of
/// threads. What it holds changes no answer: where there is no more room it makes them anew.
class LeafMasks {
 public:
  static constexpr size_t kBytesMax = size_t{4} << 20;

  /// As MakeMask; null if `work` ran dry.
  std::shared_ptr<const LeafMask> Get(const Form& form, const TokenTable& tokens,
                                      const LeafState& place, Fuel* work);

  /// Of those that are kept.
  size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<const LeafMask>> made_;
  size_t bytes_ = 0;
};

}  // namespace skald::grammar
