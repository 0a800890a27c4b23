#include "grammar/trim.h"

#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"

namespace skald::grammar {

namespace {

// Which rules and states reach an end. A node is a rule or a state of a rule; one that reaches an
// end is settled once and tells those that wait for it.
class Ends {
 public:
  // `over_bytes`: by any text, else by the empty one.
  Ends(const Form& form, bool over_bytes, Fuel* fuel)
      : form_(form), over_bytes_(over_bytes), fuel_(*fuel) {}

  bool Run() {
    first_.resize(form_.rules.size());
    uint32_t nodes = static_cast<uint32_t>(form_.rules.size());
    for (size_t rule = 0; rule < form_.rules.size(); ++rule) {
      first_[rule] = nodes;
      if (const auto* automaton = std::get_if<Automaton>(&form_.rules[rule]))
        nodes += static_cast<uint32_t>(automaton->states.size());
    }
    settled_.resize(nodes);
    waiting_.resize(nodes);
    for (uint32_t rule = 0; rule < form_.rules.size(); ++rule)
      std::visit([&](const auto& kind) { Begin(rule, kind); }, form_.rules[rule]);
    return Spread();
  }

  bool Rule(uint32_t rule) const { return settled_[rule] != 0; }
  bool State(uint32_t rule, uint32_t state) const { return settled_[first_[rule] + state] != 0; }

 private:
  // `node` is settled when all of `needs` are: one or two.
  struct Waiter {
    uint32_t node;
    uint32_t other;  // needed as well, or the node waited for
  };

  void Begin(uint32_t rule, const Leaf& leaf) {
    if (leaf.accepting[0] || (over_bytes_ && leaf.goes_on[0])) Settle(rule);
  }
  void Begin(uint32_t rule, const Counted& counted) {
    if (counted.min == 0) Settle(rule);
    waiting_[counted.rule].push_back({rule, counted.rule});
  }
  void Begin(uint32_t rule, const Automaton& automaton) {
    const uint32_t first = first_[rule];
    waiting_[first].push_back({rule, first});
    for (uint32_t i = 0; i < automaton.states.size(); ++i) {
      const AutomatonState& state = automaton.states[i];
      const uint32_t node = first + i;
      if (state.accepting) Settle(node);
      for (const uint32_t target : state.empty)
        waiting_[first + target].push_back({node, first + target});
      if (over_bytes_)
        for (const ByteEdge& edge : state.bytes)
          waiting_[first + edge.target].push_back({node, first + edge.target});
      for (const RuleEdge& edge : state.rules) {
        waiting_[first + edge.target].push_back({node, edge.rule});
        waiting_[edge.rule].push_back({node, first + edge.target});
      }
    }
  }

  void Settle(uint32_t node) {
    if (settled_[node]) return;
    settled_[node] = 1;
    news_.push_back(node);
  }

  bool Spread() {
    while (!news_.empty()) {
      const uint32_t node = news_.back();
      news_.pop_back();
      if (!fuel_.Spend(1 + static_cast<int64_t>(waiting_[node].size()))) return false;
      for (const Waiter& waiter : waiting_[node])
        if (settled_[waiter.other]) Settle(waiter.node);
    }
    return true;
  }

  const Form& form_;
  const bool over_bytes_;
  Fuel& fuel_;
  std::vector<uint32_t> first_;  // of each rule, the node of its state 0
  std::vector<uint8_t> settled_;
  std::vector<std::vector<Waiter>> waiting_;
  std::vector<uint32_t> news_;
};

void Cut(const Ends& ends, uint32_t rule, Automaton* automaton) {
  const auto dead = [&](uint32_t target) { return !ends.State(rule, target); };
  for (AutomatonState& state : automaton->states) {
    std::erase_if(state.bytes, [&](const ByteEdge& edge) { return dead(edge.target); });
    std::erase_if(state.empty, dead);
    std::erase_if(state.rules,
                  [&](const RuleEdge& edge) { return dead(edge.target) || !ends.Rule(edge.rule); });
  }
}

}  // namespace

Status Trim(Fuel* fuel, Form* form) {
  Ends empty(*form, false, fuel);
  if (!empty.Run()) return Fuel::Error();
  for (Rule& rule : form->rules) {
    auto* counted = std::get_if<Counted>(&rule);
    if (counted != nullptr && empty.Rule(counted->rule)) counted->min = 0;
  }
  Ends ends(*form, true, fuel);
  if (!ends.Run()) return Fuel::Error();
  if (!ends.Rule(form->root))
    return Status(ErrorCode::kInvalidArgument, "no text can satisfy it: nothing can be finished");
  for (uint32_t rule = 0; rule < form->rules.size(); ++rule) {
    if (auto* automaton = std::get_if<Automaton>(&form->rules[rule])) Cut(ends, rule, automaton);
    auto* counted = std::get_if<Counted>(&form->rules[rule]);
    if (counted != nullptr && !ends.Rule(counted->rule)) counted->max = 0;
  }
  return Ok();
}

}  // namespace skald::grammar
