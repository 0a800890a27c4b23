#include "grammar/determinize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/limits.h"

namespace skald::grammar {

namespace {

using StateSet = std::vector<uint32_t>;  // ascending

// The subset construction: M. Rabin and D. Scott, "Finite Automata and Their Decision Problems",
// 1959. Sets are found by comparing them, not by hashing: nobody can choose them to collide.
class Subsets {
 public:
  Subsets(const Nfa& nfa, size_t states_max, Fuel* fuel)
      : nfa_(nfa), states_max_(states_max), fuel_(*fuel), mark_(nfa.size()) {}

  // Nothing if there would be too many states or the fuel ran dry.
  std::optional<Automaton> Run() {
    NumberOf({nfa_.start});
    for (uint32_t state = 0; state < sets_.size(); ++state) {
      if (sets_.size() > states_max_) return std::nullopt;
      if (!Expand(state) || fuel_.IsSpent()) return std::nullopt;
    }
    return std::move(automaton_);
  }

 private:
  // The state that stands for `states` and what empty edges lead to.
  uint32_t NumberOf(StateSet states) {
    ++round_;
    for (const uint32_t state : states) mark_[state] = round_;
    for (size_t i = 0; i < states.size(); ++i) {
      // What is left is looked at by the caller.
      static_cast<void>(fuel_.Spend(2 + static_cast<int64_t>(nfa_.edges(states[i]).size())));
      for (const NfaEdge& edge : nfa_.edges(states[i])) {
        if (edge.kind != NfaEdgeKind::kEmpty || mark_[edge.target] == round_) continue;
        mark_[edge.target] = round_;
        states.push_back(edge.target);
      }
    }
    bool accepting = false;
    for (const uint32_t state : states) accepting |= nfa_.accepting[state] != 0;
    // A state without edges of its own says nothing but whether the text may end.
    std::erase_if(states, [&](uint32_t state) {
      return std::all_of(nfa_.edges(state).begin(), nfa_.edges(state).end(),
                         [](const NfaEdge& edge) { return edge.kind == NfaEdgeKind::kEmpty; });
    });
    std::sort(states.begin(), states.end());
    const auto [entry, is_new] = numbers_.try_emplace(std::pair(accepting, std::move(states)),
                                                      static_cast<uint32_t>(numbers_.size()));
    if (is_new) {
      sets_.push_back(&entry->first.second);
      automaton_.states.push_back({.accepting = accepting});
    }
    return entry->second;
  }

  bool Expand(uint32_t state) {
    std::vector<NfaEdge> byte_edges;
    std::map<uint32_t, StateSet> by_rule;
    std::map<uint32_t, StateSet> by_token;
    for (const uint32_t member : *sets_[state]) {
      for (const NfaEdge& edge : nfa_.edges(member)) {
        if (edge.kind == NfaEdgeKind::kBytes) byte_edges.push_back(edge);
        if (edge.kind == NfaEdgeKind::kRule) by_rule[edge.rule].push_back(edge.target);
        if (edge.kind == NfaEdgeKind::kToken) by_token[edge.rule].push_back(edge.target);
      }
      if (!fuel_.Spend(1 + static_cast<int64_t>(nfa_.edges(member).size()))) return false;
    }
    for (auto& [rule, targets] : by_rule) {
      const uint32_t target = NumberOf(Unique(std::move(targets)));
      automaton_.states[state].rules.push_back({rule, target});
    }
    for (auto& [token, targets] : by_token) {
      const uint32_t target = NumberOf(Unique(std::move(targets)));
      automaton_.states[state].tokens.push_back({static_cast<TokenId>(token), target});
    }
    return ExpandBytes(state, byte_edges);
  }

  // Cuts the bytes where an edge begins or ends; between two cuts all bytes lead to one set.
  bool ExpandBytes(uint32_t state, const std::vector<NfaEdge>& edges) {
    std::vector<uint32_t> cuts;
    for (const NfaEdge& edge : edges) {
      cuts.push_back(edge.low);
      cuts.push_back(uint32_t{edge.high} + 1);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    if (cuts.empty()) return true;
    std::vector<StateSet> targets(cuts.size() - 1);
    for (const NfaEdge& edge : edges) {
      auto piece =
          static_cast<size_t>(std::lower_bound(cuts.begin(), cuts.end(), edge.low) - cuts.begin());
      int64_t pieces = 0;
      for (; cuts[piece] <= edge.high; ++piece, ++pieces) targets[piece].push_back(edge.target);
      if (!fuel_.Spend(1 + pieces)) return false;
    }
    for (size_t piece = 0; piece < targets.size(); ++piece) {
      if (targets[piece].empty()) continue;
      if (!fuel_.Spend(static_cast<int64_t>(targets[piece].size()))) return false;
      AddBytes(state, static_cast<uint8_t>(cuts[piece]), static_cast<uint8_t>(cuts[piece + 1] - 1),
               NumberOf(Unique(std::move(targets[piece]))));
    }
    return true;
  }

  void AddBytes(uint32_t state, uint8_t low, uint8_t high, uint32_t target) {
    std::vector<ByteEdge>& edges = automaton_.states[state].bytes;
    const bool extends =
        !edges.empty() && edges.back().target == target && edges.back().high + 1 == low;
    if (extends)
      edges.back().high = high;
    else
      edges.push_back({low, high, target});
  }

  static StateSet Unique(StateSet states) {
    std::sort(states.begin(), states.end());
    states.erase(std::unique(states.begin(), states.end()), states.end());
    return states;
  }

  const Nfa& nfa_;
  const size_t states_max_;
  Fuel& fuel_;
  std::vector<uint32_t> mark_;  // the round in which a state was last met
  uint32_t round_ = 0;
  std::map<std::pair<bool, StateSet>, uint32_t> numbers_;
  std::vector<const StateSet*> sets_;  // keys of numbers_
  Automaton automaton_;
};

Automaton Copy(const Nfa& nfa) {
  Automaton automaton;
  // The start is state 0 of a rule: it changes places with what was there.
  const auto moved = [&](uint32_t state) {
    if (state == nfa.start) return uint32_t{0};
    return state == 0 ? nfa.start : state;
  };
  automaton.states.resize(nfa.size());
  for (uint32_t state = 0; state < nfa.size(); ++state) {
    AutomatonState& copy = automaton.states[moved(state)];
    copy.accepting = nfa.accepting[state] != 0;
    for (const NfaEdge& edge : nfa.edges(state)) {
      const uint32_t target = moved(edge.target);
      if (edge.kind == NfaEdgeKind::kEmpty) copy.empty.push_back(target);
      if (edge.kind == NfaEdgeKind::kBytes) copy.bytes.push_back({edge.low, edge.high, target});
      if (edge.kind == NfaEdgeKind::kToken)
        copy.tokens.push_back({static_cast<TokenId>(edge.rule), target});
      if (edge.kind == NfaEdgeKind::kRule) copy.rules.push_back({edge.rule, target});
    }
  }
  return automaton;
}

bool HasBytesOnly(const Automaton& automaton) {
  return std::all_of(
      automaton.states.begin(), automaton.states.end(),
      [](const AutomatonState& state) { return state.rules.empty() && state.tokens.empty(); });
}

}  // namespace

Leaf MakeLeaf(const Automaton& automaton) {
  Leaf leaf;
  std::array<bool, 257> cut = {};
  for (const AutomatonState& state : automaton.states) {
    for (const ByteEdge& edge : state.bytes) {
      cut[edge.low] = true;
      cut[edge.high + 1] = true;
    }
  }
  for (int byte = 1; byte < 256; ++byte)
    leaf.class_of[byte] = static_cast<uint8_t>(leaf.class_of[byte - 1] + (cut[byte] ? 1 : 0));
  leaf.class_count = leaf.class_of[255] + 1U;
  leaf.next.assign(automaton.states.size() * leaf.class_count, Leaf::kDead);
  for (size_t state = 0; state < automaton.states.size(); ++state) {
    const AutomatonState& from = automaton.states[state];
    for (const ByteEdge& edge : from.bytes)
      for (uint32_t c = leaf.class_of[edge.low]; c <= leaf.class_of[edge.high]; ++c)
        leaf.next[state * leaf.class_count + c] = edge.target;
    leaf.accepting.push_back(from.accepting ? 1 : 0);
    leaf.goes_on.push_back(from.bytes.empty() ? 0 : 1);
  }
  return leaf;
}

Result<Automaton> Deterministic(const Nfa& nfa, Fuel* fuel) {
  std::optional<Automaton> automaton = Subsets(nfa, kDeterministicStatesMax, fuel).Run();
  if (fuel->IsSpent()) return fuel->Error();
  if (!automaton.has_value())
    return Status(ErrorCode::kInvalidArgument,
                  "needs more than " + std::to_string(kDeterministicStatesMax) + " states");
  return *std::move(automaton);
}

Result<Rule> MakeRule(const Nfa& nfa, Fuel* fuel) {
  // Sets of many states are what costs, and may come to nothing: an eighth of what is left of the
  // fuel is for trying.
  Fuel attempt = fuel->Share(8);
  const size_t states_max = std::min(kDeterministicStatesMax, kDeterministicGrowthMax * nfa.size());
  std::optional<Automaton> automaton = Subsets(nfa, states_max, &attempt).Run();
  if (!fuel->TakeBack(8, attempt)) return fuel->Error();
  if (!automaton.has_value()) return Rule(Copy(nfa));
  if (!HasBytesOnly(*automaton)) return Rule(std::move(*automaton));
  return Rule(MakeLeaf(*automaton));
}

}  // namespace skald::grammar
