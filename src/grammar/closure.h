/// Closure: the items of one row, with all that they call and finish.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/form.h"
#include "grammar/limits.h"
#include "grammar/row.h"

namespace skald::grammar {

class Closure {
 public:
  explicit Closure(const Form& form) : form_(form) { agenda_.reserve(8); }

  /// An item behind the byte of this row. Twice the same counts once.
  void Add(const Item& item);
  /// What goes on behind a finished rule.
  void AddFinished(const Context* context);
  /// The root rule, before the first byte.
  void AddRoot();

  /// The row, or null if no item was added. Ends the closure.
  std::shared_ptr<const Row> Finish();

 private:
  struct ItemHash {
    size_t operator()(const Item& item) const;
  };

  void Process(const Item& item);
  void Walk(const Item& item, const Automaton& automaton);
  void Walk(const Item& item, const Leaf& leaf);
  void Walk(const Item& item, const Counted& counted);
  void Walk(const Item& item, const Array& array);
  void Walk(const Item& item, const Object& object);
  void WalkContainer(const Item& item);
  // The rule of `context` is finished.
  void Complete(const Context* context);
  void Resume(const Item& caller, const Context* finished);
  // `rule` begins here; `caller` goes on when it is finished.
  void Predict(uint32_t rule, const Item& caller);
  void AddCaller(const Item& caller, Context* context);
  // The context of `rule` that begins here; a new one has `depth` and no callers.
  Context* ContextOf(uint32_t rule, uint32_t depth);
  bool GoesOnInLeaf(const Item& item) const;
  bool IsInKey(const Item& item) const;
  bool IsInBlanks(const Item& item) const;
  bool IsTailCall(const Item& caller) const;
  bool Spend(int64_t steps);
  void KeepFrames();

  const Form& form_;
  std::shared_ptr<Frame> frame_;  // null until a rule begins
  std::vector<Item> agenda_;      // all items met; those behind done_ are still to be processed
  size_t done_ = 0;
  std::unordered_set<Item, ItemHash> met_;           // once there are many
  std::unordered_map<uint32_t, Context*> contexts_;  // of this row, by rule, once there are many
  std::vector<const Context*> completed_;            // of this row: rules that took no byte
  int64_t steps_left_ = kRowSteps;
  Row row_;
};

}  // namespace skald::grammar
