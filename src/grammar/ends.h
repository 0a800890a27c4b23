/// Ends: which rules and states of a grammar reach an end, and how deep that must go.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "grammar/form.h"
#include "grammar/fuel.h"

namespace skald::grammar {

/// By which texts an end is looked for.
enum class EndsBy : uint8_t { kAnyText, kEmptyText };

/// A node is a rule or a state of a rule. One that reaches an end is settled once, the least deep
/// ones first, and tells those that wait for it: D. Knuth, "A Generalization of Dijkstra's
/// Algorithm", 1977. The depth of a node is the number of containers inside of one another that it
/// needs, at least.
class Ends {
 public:
  Ends(const Form& form, EndsBy by, Fuel* fuel) : form_(form), by_(by), fuel_(*fuel) {}

  /// Before anything else. False if the fuel ran dry.
  bool Run();

  /// Form::kNever for what reaches none, or none within kTextDepthMax.
  uint32_t DepthOfRule(uint32_t rule) const { return depth_[rule]; }
  bool State(uint32_t rule, uint32_t state) const {
    return depth_[first_[rule] + state] != Form::kNever;
  }

 private:
  // `node` is settled when both the node waited for and `other` are.
  struct Waiter {
    uint32_t node;
    uint32_t other;
  };
  // A container waits for all that it requires, and for as many as it must have.
  struct Wants {
    uint32_t required = 0;  // values still waited for
    uint64_t members = 0;   // that may be there
    uint64_t min = 0;
  };
  struct Use {  // of a rule by a container
    uint32_t container;
    bool required;
    uint64_t members;  // that it brings
  };

  void Begin(uint32_t rule, const Leaf& leaf);
  void Begin(uint32_t rule, const Counted& counted);
  void Begin(uint32_t rule, const Automaton& automaton);
  void Begin(uint32_t rule, const Array& array);
  void Begin(uint32_t rule, const Object& object);
  void Propose(uint32_t node, uint32_t depth);
  void Wait(uint32_t node, uint32_t first, uint32_t second);
  void Tell(const Use& use, uint32_t depth);
  void CheckContainer(uint32_t rule, uint32_t depth);
  bool Settle(uint32_t node, uint32_t depth);

  const Form& form_;
  const EndsBy by_;
  Fuel& fuel_;
  std::vector<uint32_t> first_;  // of each rule, the node of its state 0
  std::vector<uint32_t> depth_;  // of each node
  std::vector<std::vector<Waiter>> waiting_;
  std::vector<std::vector<Use>> uses_;            // of each rule
  std::vector<Wants> wants_;                      // of each rule that is a container
  std::vector<std::vector<uint32_t>> proposals_;  // nodes by depth
};

}  // namespace skald::grammar
