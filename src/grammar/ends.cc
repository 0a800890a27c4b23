#include "grammar/ends.h"

#include <algorithm>
#include <variant>

#include "grammar/containers.h"
#include "grammar/limits.h"

namespace skald::grammar {

namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 40;

}  // namespace

bool Ends::Run() {
  const size_t rules = form_.rules.size();
  first_.resize(rules);
  wants_.resize(rules);
  uses_.resize(rules);
  proposals_.resize(kTextDepthMax + 1);
  auto nodes = static_cast<uint32_t>(rules);
  for (size_t rule = 0; rule < rules; ++rule) {
    first_[rule] = nodes;
    if (const auto* automaton = std::get_if<Automaton>(&form_.rules[rule]))
      nodes += static_cast<uint32_t>(automaton->states.size());
  }
  depth_.assign(nodes, Form::kNever);
  waiting_.resize(nodes);
  for (uint32_t rule = 0; rule < rules; ++rule)
    std::visit([&](const auto& kind) { Begin(rule, kind); }, form_.rules[rule]);
  for (uint32_t depth = 0; depth <= kTextDepthMax; ++depth) {
    while (!proposals_[depth].empty()) {
      const uint32_t node = proposals_[depth].back();
      proposals_[depth].pop_back();
      if (depth_[node] == Form::kNever && !Settle(node, depth)) return false;
    }
  }
  return !fuel_.IsSpent();
}

void Ends::Propose(uint32_t node, uint32_t depth) {
  if (depth <= kTextDepthMax) proposals_[depth].push_back(node);
}

void Ends::Wait(uint32_t node, uint32_t first, uint32_t second) {
  waiting_[first].push_back({node, second});
  if (second != first) waiting_[second].push_back({node, first});
}

bool Ends::Settle(uint32_t node, uint32_t depth) {
  depth_[node] = depth;
  if (!fuel_.Spend(1 + static_cast<int64_t>(waiting_[node].size()))) return false;
  for (const Waiter& waiter : waiting_[node])
    if (depth_[waiter.other] != Form::kNever) Propose(waiter.node, depth);
  if (node >= uses_.size()) return true;
  if (!fuel_.Spend(static_cast<int64_t>(uses_[node].size()))) return false;
  for (const Use& use : uses_[node]) Tell(use, depth);
  return true;
}

void Ends::Tell(const Use& use, uint32_t depth) {
  Wants& wants = wants_[use.container];
  if (use.required) --wants.required;
  wants.members += use.members;
  CheckContainer(use.container, depth);
}

void Ends::CheckContainer(uint32_t rule, uint32_t depth) {
  const Wants& wants = wants_[rule];
  if (wants.required == 0 && wants.members >= wants.min) Propose(rule, depth + 1);
}

void Ends::Begin(uint32_t rule, const Leaf& leaf) {
  const bool ends = leaf.Accepts(0, 0) || (by_ == EndsBy::kAnyText && leaf.goes_on[0]);
  if (ends) Propose(rule, 0);
}

void Ends::Begin(uint32_t rule, const Counted& counted) {
  if (counted.min == 0) Propose(rule, 0);
  Wait(rule, counted.rule, counted.rule);
}

void Ends::Begin(uint32_t rule, const Automaton& automaton) {
  const uint32_t first = first_[rule];
  Wait(rule, first, first);
  for (uint32_t i = 0; i < automaton.states.size(); ++i) {
    const AutomatonState& state = automaton.states[i];
    const uint32_t node = first + i;
    if (state.accepting) Propose(node, 0);
    for (const uint32_t target : state.empty) Wait(node, first + target, first + target);
    if (by_ == EndsBy::kAnyText)
      for (const ByteEdge& edge : state.bytes) Wait(node, first + edge.target, first + edge.target);
    if (by_ == EndsBy::kAnyText)
      for (const TokenEdge& edge : state.tokens)
        Wait(node, first + edge.target, first + edge.target);
    for (const RuleEdge& edge : state.rules) Wait(node, edge.rule, first + edge.target);
  }
}

void Ends::Begin(uint32_t rule, const Array& array) {
  if (by_ == EndsBy::kEmptyText) return;
  Wants& wants = wants_[rule];
  if (array.min > array.max) return;
  for (uint32_t i = 0; i < array.min; ++i) {
    const bool in_prefix = i < array.prefix.size();
    const uint32_t element = in_prefix ? array.prefix[i] : array.rest;
    ++wants.required;
    if (element != kNoRule) uses_[element].push_back({rule, true, 0});
    if (!in_prefix) break;  // all others are the same
  }
  CheckContainer(rule, 0);
}

void Ends::Begin(uint32_t rule, const Object& object) {
  if (object.min > object.max) return;
  if (by_ == EndsBy::kEmptyText) {
    const bool needs_none =
        object.min == 0 && std::none_of(object.members.begin(), object.members.end(),
                                        [](const Member& member) { return member.required; });
    if (object.is_bare && needs_none) Propose(rule, 1);
    return;
  }
  Wants& wants = wants_[rule];
  wants.min = object.min;
  for (uint32_t i = 0; i < object.members.size(); ++i) {
    const Member& member = object.members[i];
    if (member.required) ++wants.required;
    // Only where more must come than are named it matters how many others there are.
    uint64_t keys = i < object.named ? 1 : kPlenty;
    if (i >= object.named && object.min > object.named) {
      if (!fuel_.Spend(2 * static_cast<int64_t>(object.keys.next.size()))) return;
      keys = std::min(kPlenty, CountKeys(object, i));
    }
    uses_[member.rule].push_back({rule, member.required, keys});
  }
  // More are required than there may be: never.
  if (wants.required > object.max) ++wants.required;
  CheckContainer(rule, 0);
}

}  // namespace skald::grammar
