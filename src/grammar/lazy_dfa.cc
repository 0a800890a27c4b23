#include "grammar/lazy_dfa.h"

#include <utility>
#include <variant>

#include "grammar/containers.h"
#include "grammar/key_rules.h"

namespace skald::grammar {

LazyDfa::State LazyDfa::Passing(RowPointer row) {
  State state = {.row = std::move(row)};
  if (state.row->items.empty()) return state;
  const Item& item = state.row->items.front();
  if (state.row->begins_in_leaf && state.row->steps <= kLightSteps)
    state.leaf = &std::get<Leaf>(form_.rules[item.rule]);
  else if (state.row->begins_in_key)
    EnterKey(item, &state);
  return state;
}

// Where any key that is not declared may come.
void LazyDfa::EnterKey(const Item& item, State* state) const {
  const auto* object = std::get_if<Object>(&form_.rules[item.rule]);
  if (object == nullptr) return;
  // Where there are more keys than came, another one is among them, whatever they were.
  const uint64_t used = item.run == nullptr ? 0 : item.run->UsedBelow();
  if (object->free_keys[Place::Of(item.state).index] <= used) return;
  if (!KeyRules(form_, *object, item.context->depth).TakesFreeKeys(item.run.get())) return;
  state->leaf = &object->keys;
  state->keys = object;
  state->used_keys = used;
}

std::unique_ptr<LazyDfa::Edges> LazyDfa::NewEdges() {
  if (!HasRoom()) return nullptr;
  ++kept_;
  return std::make_unique<Edges>();
}

LazyDfa::State* LazyDfa::Keep(RowPointer row) {
  states_.push_back(Passing(std::move(row)));
  states_.back().edges = NewEdges();
  return &states_.back();
}

LazyDfa::State* LazyDfa::Of(const RowPointer& row) {
  const auto [found, is_new] = given_.try_emplace(row.get(), nullptr);
  if (is_new) found->second = Keep(row);
  return found->second;
}

LazyDfa::State* LazyDfa::Next(const State& from, uint8_t byte, State* scratch) {
  Edges* edges = from.edges.get();
  const uint8_t where = edges == nullptr ? Edges::kUnknown : edges->where[byte];
  if (where == Edges::kNowhere) return nullptr;
  if (where != Edges::kUnknown) return edges->next[where - Edges::kFirst];
  RowPointer row = NextRow(form_, *from.row, byte);
  steps_ += static_cast<int64_t>(from.row->items.size()) + (row == nullptr ? 0 : row->steps);
  if (row == nullptr) {
    if (edges != nullptr) edges->where[byte] = Edges::kNowhere;
    return nullptr;
  }
  // Of a state that nobody finds again, nothing it leads to is found again, either; and an edge is
  // a byte, which leaves no number for the last two of 256.
  if (edges == nullptr || !HasRoom() || edges->next.size() + Edges::kFirst > UINT8_MAX) {
    *scratch = Passing(std::move(row));
    return scratch;
  }
  edges->where[byte] = static_cast<uint8_t>(edges->next.size() + Edges::kFirst);
  return edges->next.emplace_back(Keep(std::move(row)));
}

const LazyDfa::State& LazyDfa::WithBehind(State* state) {
  if (state->behind != nullptr) return *state;
  state->behind =
      std::make_unique<State>(Passing(RowBehind(form_, state->row->items.front().context)));
  state->behind->edges = NewEdges();
  steps_ += state->behind->row->steps;
  state->behind_bytes = NextBytes(form_, *state->behind->row);
  return *state;
}

}  // namespace skald::grammar
