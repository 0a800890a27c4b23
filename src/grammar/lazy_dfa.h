/// LazyDfa: the rows that a walk meets as states of a deterministic automaton, each edge made when
/// it is first asked for.
///
/// Most tokens go on in the same few ways, and a row costs a hundred times what a look-up does.
/// After R. Cox, "Regular Expression Matching: the Virtual Machine Approach" and RE2, 2010.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "grammar/form.h"
#include "grammar/limits.h"
#include "grammar/recognizer.h"

namespace skald::grammar {

/// Up to so many steps of a row it is far from the bounds of a row. What goes on behind a leaf is
/// made apart from what the leaf itself makes alive there; near the bounds only both together tell
/// whether that is too complex.
inline constexpr int64_t kLightSteps = 500;
static_assert(kLightSteps < static_cast<int64_t>(kRowItemsMax) / 2);

class LazyDfa {
 public:
  struct State;

  /// Where bytes lead from a state, as far as they were asked for.
  struct Edges {
    static constexpr uint8_t kUnknown = 0;
    static constexpr uint8_t kNowhere = 1;
    static constexpr uint8_t kFirst = 2;  ///< of `next`, and so on

    std::array<uint8_t, 256> where = {};
    std::vector<State*> next = {};
  };

  struct State {
    RowPointer row = nullptr;
    std::unique_ptr<Edges> edges = nullptr;  ///< null where nothing is kept

    /// Of a row that is inside of a leaf, or of the key of an object where any may come: a byte
    /// costs a look-up there. The automaton is that of the first item, or the keys of its object.
    const Leaf* leaf = nullptr;
    const Object* keys = nullptr;
    uint64_t used_keys = 0;  ///< keys that came and begin as this one, or more
    /// What goes on where the leaf ends (Behind), and the bytes that may follow there.
    std::unique_ptr<State> behind = nullptr;
    std::bitset<256> behind_bytes = {};

    bool LeadsNowhere(uint8_t byte) const {
      return edges != nullptr && edges->where[byte] == Edges::kNowhere;
    }
  };

  /// States whose edges are kept, at most: a walk over all tokens may meet a million, and would
  /// take the memory for them.
  static constexpr size_t kStatesKept = 4096;

  /// The form outlives it.
  explicit LazyDfa(const Form& form) : form_(form) {}

  /// Steps of rows that were made.
  int64_t steps() const { return steps_; }

  /// The state of a row from elsewhere. It stays as long as the automaton, as all do that are kept.
  State* Of(const RowPointer& row);
  /// One of which nothing is kept.
  State Passing(RowPointer row);

  /// Behind `byte`; null where that leads nowhere. A state that is not kept is put into `scratch`,
  /// another one than `from`.
  State* Next(const State& from, uint8_t byte, State* scratch);

  /// `state` with what goes on behind its leaf.
  const State& WithBehind(State* state);

 private:
  bool HasRoom() const { return kept_ < kStatesKept; }
  std::unique_ptr<Edges> NewEdges();
  State* Keep(RowPointer row);
  void EnterKey(const Item& item, State* state) const;

  const Form& form_;
  int64_t steps_ = 0;
  size_t kept_ = 0;           // states that have edges
  std::deque<State> states_;  // never moved
  std::unordered_map<const Row*, State*> given_;
};

}  // namespace skald::grammar
