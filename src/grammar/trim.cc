#include "grammar/trim.h"

#include <variant>

#include "base/status_macros.h"
#include "grammar/containers.h"
#include "grammar/ends.h"

namespace skald::grammar {

namespace {

void Cut(const Ends& ends, uint32_t rule, Automaton* automaton) {
  const auto dead = [&](uint32_t target) { return !ends.State(rule, target); };
  for (AutomatonState& state : automaton->states) {
    std::erase_if(state.bytes, [&](const ByteEdge& edge) { return dead(edge.target); });
    std::erase_if(state.tokens, [&](const TokenEdge& edge) { return dead(edge.target); });
    std::erase_if(state.empty, dead);
    std::erase_if(state.rules, [&](const RuleEdge& edge) {
      return dead(edge.target) || ends.DepthOfRule(edge.rule) == Form::kNever;
    });
  }
}

// Time in proportion to the states of the keys and what they reach.
Status Index(Fuel* fuel, Form* form) {
  for (Rule& rule : form->rules) {
    auto* object = std::get_if<Object>(&rule);
    if (object == nullptr) continue;
    if (!fuel->Spend(2 * static_cast<int64_t>(object->keys.next.size()))) return fuel->Error();
    IndexKeys(*form, object);
  }
  return Ok();
}

}  // namespace

Status Trim(Fuel* fuel, Form* form) {
  Ends empty(*form, EndsBy::kEmptyText, fuel);
  if (!empty.Run()) return fuel->Error();
  for (Rule& rule : form->rules) {
    auto* counted = std::get_if<Counted>(&rule);
    if (counted != nullptr && empty.DepthOfRule(counted->rule) != Form::kNever) counted->min = 0;
  }
  Ends ends(*form, EndsBy::kAnyText, fuel);
  if (!ends.Run()) return fuel->Error();
  if (ends.DepthOfRule(form->root) == Form::kNever)
    return Status(ErrorCode::kInvalidArgument, "no text can satisfy it: nothing can be finished");
  for (uint32_t rule = 0; rule < form->rules.size(); ++rule) {
    form->depths.push_back(ends.DepthOfRule(rule));
    if (auto* automaton = std::get_if<Automaton>(&form->rules[rule])) Cut(ends, rule, automaton);
  }
  return Index(fuel, form);
}

}  // namespace skald::grammar
