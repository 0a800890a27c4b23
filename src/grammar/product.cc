#include "grammar/product.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace skald::grammar {

namespace {

class Builder {
 public:
  Builder(std::span<const Automaton> automata, const ProductRules& rules, Fuel* fuel)
      : automata_(automata), rules_(rules), fuel_(*fuel) {}

  Result<Product> Run() {
    RETURN_IF_ERROR(NumberOf(States(automata_.size(), 0)).status());
    for (uint32_t state = 0; state < sets_.size(); ++state) {
      if (sets_.size() > kProductStatesMax)
        return Status(ErrorCode::kInvalidArgument,
                      "needs more than " + std::to_string(kProductStatesMax) + " states");
      RETURN_IF_ERROR(Expand(state));
    }
    CutDead();
    return std::move(product_);
  }

 private:
  Result<uint32_t> NumberOf(States states) {
    const auto [entry, is_new] =
        numbers_.try_emplace(std::move(states), static_cast<uint32_t>(numbers_.size()));
    if (!is_new) return entry->second;
    sets_.push_back(&entry->first);
    ASSIGN_OR_RETURN(const uint32_t label, rules_.label(entry->first));
    product_.labels.push_back(label);
    product_.automaton.states.push_back({.accepting = label != kNoLabel});
    return entry->second;
  }

  const std::vector<ByteEdge>& Edges(uint32_t automaton, uint32_t state) const {
    return automata_[automaton].states[state].bytes;
  }

  // Bytes between two cuts lead every automaton to one state.
  Status Expand(uint32_t state) {
    const States& set = *sets_[state];
    std::vector<uint32_t> cuts;
    for (uint32_t i = 0; i < set.size(); ++i) {
      if (set[i] == kGone) continue;
      for (const ByteEdge& edge : Edges(i, set[i])) {
        cuts.push_back(edge.low);
        cuts.push_back(uint32_t{edge.high} + 1);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    if (!fuel_.Spend(1 + static_cast<int64_t>(cuts.size() * set.size()))) return fuel_.Error();
    for (size_t piece = 0; piece + 1 < cuts.size(); ++piece) {
      States targets = Targets(set, static_cast<uint8_t>(cuts[piece]));
      if (!rules_.alive(targets)) continue;
      ASSIGN_OR_RETURN(const uint32_t target, NumberOf(std::move(targets)));
      product_.automaton.states[state].bytes.push_back(
          {static_cast<uint8_t>(cuts[piece]), static_cast<uint8_t>(cuts[piece + 1] - 1), target});
    }
    return Ok();
  }

  States Targets(const States& set, uint8_t byte) const {
    States targets(set.size(), kGone);
    for (uint32_t i = 0; i < set.size(); ++i) {
      if (set[i] == kGone) continue;
      const std::vector<ByteEdge>& edges = Edges(i, set[i]);
      // Ascending and disjoint: the last that begins at the byte or before.
      auto edge = std::upper_bound(edges.begin(), edges.end(), byte,
                                   [](uint8_t b, const ByteEdge& e) { return b < e.low; });
      if (edge != edges.begin() && (--edge)->high >= byte) targets[i] = edge->target;
    }
    return targets;
  }

  void CutDead() {
    std::vector<AutomatonState>& states = product_.automaton.states;
    std::vector<std::vector<uint32_t>> sources(states.size());
    std::vector<uint8_t> live(states.size());
    std::vector<uint32_t> news;
    for (uint32_t state = 0; state < states.size(); ++state) {
      for (const ByteEdge& edge : states[state].bytes) sources[edge.target].push_back(state);
      if (!states[state].accepting) continue;
      live[state] = 1;
      news.push_back(state);
    }
    while (!news.empty()) {
      const uint32_t state = news.back();
      news.pop_back();
      for (const uint32_t source : sources[state]) {
        if (live[source]) continue;
        live[source] = 1;
        news.push_back(source);
      }
    }
    for (AutomatonState& state : states)
      std::erase_if(state.bytes, [&](const ByteEdge& edge) { return !live[edge.target]; });
  }

  std::span<const Automaton> automata_;
  const ProductRules& rules_;
  Fuel& fuel_;
  std::map<States, uint32_t> numbers_;  // by comparing, not by hashing: nobody can make it collide
  std::vector<const States*> sets_;     // keys of numbers_
  Product product_;
};

}  // namespace

Result<Product> MakeProduct(std::span<const Automaton> automata, const ProductRules& rules,
                            Fuel* fuel) {
  return Builder(automata, rules, fuel).Run();
}

Result<Automaton> Intersection(std::span<const Automaton> automata, Fuel* fuel) {
  ProductRules rules;
  rules.alive = [](const States& states) {
    return std::find(states.begin(), states.end(), kGone) == states.end();
  };
  rules.label = [&](const States& states) -> Result<uint32_t> {
    for (size_t i = 0; i < states.size(); ++i)
      if (!automata[i].states[states[i]].accepting) return kNoLabel;
    return 0U;
  };
  ASSIGN_OR_RETURN(Product product, MakeProduct(automata, rules, fuel));
  return std::move(product.automaton);
}

}  // namespace skald::grammar
