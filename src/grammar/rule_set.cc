#include "grammar/rule_set.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/limits.h"
#include "grammar/thompson.h"
#include "grammar/trim.h"

namespace skald::grammar {

namespace {

// Gives the rules that a rule calls the numbers that they get in another form.
template <typename Number>
class Renumber {
 public:
  explicit Renumber(Number number) : number_(std::move(number)) {}

  void operator()(Automaton& automaton) const {
    for (AutomatonState& state : automaton.states)
      for (RuleEdge& edge : state.rules) edge.rule = number_(edge.rule);
  }
  void operator()(Leaf&) const {}
  void operator()(Counted& counted) const { counted.rule = number_(counted.rule); }
  void operator()(Array& array) const {
    for (uint32_t& rule : array.prefix) rule = number_(rule);
    if (array.rest != kNoRule) array.rest = number_(array.rest);
  }
  void operator()(Object& object) const {
    if (object.is_bare) {
      object.before_first = number_(object.before_first);
      object.before_next = number_(object.before_next);
    }
    for (Member& member : object.members) member.rule = number_(member.rule);
  }

 private:
  Number number_;
};

class RuleCompiler {
 public:
  // All numbers that callers know are taken at once: what is made on the way, of repetitions and
  // inside of parts, comes behind them.
  RuleCompiler(const RuleSet& set, Fuel* fuel) : fuel_(*fuel) {
    form_.root = set.root;
    form_.rules.resize(set.rules.size() + set.parts.size());
  }

  // Makes rule number `rule`. Its states are counted before it is made deterministic: that can only
  // cost more, and a grammar beyond the bound is to be refused before it costs anything.
  Status Compile(uint32_t rule, const Expression& expression) {
    Nfa nfa;
    nfa.start = nfa.AddState();
    const uint32_t last = nfa.AddState();
    ThompsonOptions options;
    options.make_repeat = [this](const Expression& repeat) { return MakeCounted(repeat); };
    RETURN_IF_ERROR(AddExpression(expression, nfa.start, last, options, &fuel_, &nfa));
    RETURN_IF_ERROR(CountIn(nfa.size()));
    if (!FinishNfa(last, &fuel_, &nfa)) return fuel_.Error();
    ASSIGN_OR_RETURN(form_.rules[rule], MakeRule(nfa, &fuel_));
    return Ok();
  }

  // Makes rule number `rule` the root of `part`, whose other rules come behind all there are.
  Status Append(uint32_t rule, const Form& part) {
    size_t states = 0;
    for (const Rule& each : part.rules) states += StatesOf(each);
    RETURN_IF_ERROR(CountIn(states));
    if (!fuel_.Spend(static_cast<int64_t>(states + part.rules.size()))) return fuel_.Error();
    // The root goes where callers look for it; those behind it close the gap that it leaves.
    const auto first = static_cast<uint32_t>(form_.rules.size());
    const auto number = [&](uint32_t old) {
      if (old == part.root) return rule;
      return first + old - (old > part.root ? 1 : 0);
    };
    form_.rules.resize(form_.rules.size() + part.rules.size() - 1);
    for (uint32_t old = 0; old < part.rules.size(); ++old) {
      Rule copy = part.rules[old];
      std::visit(Renumber(number), copy);
      form_.rules[number(old)] = std::move(copy);
    }
    return Ok();
  }

  Form Take() { return std::move(form_); }

 private:
  // A repetition that would be too long to write out: a rule that counts, and the one it counts.
  // Both have their numbers before the second is compiled, which may hold repetitions itself.
  Result<uint32_t> MakeCounted(const Expression& repeat) {
    const auto counted = static_cast<uint32_t>(form_.rules.size());
    form_.rules.emplace_back(Counted{counted + 1, repeat.min, repeat.max});
    form_.rules.emplace_back();
    RETURN_IF_ERROR(Compile(counted + 1, repeat.parts.front()));
    return counted;
  }

  Status CountIn(size_t states) {
    states_ += states;
    if (states_ <= kStatesMax) return Ok();
    return Status(ErrorCode::kInvalidArgument,
                  "needs more than " + std::to_string(kStatesMax) + " states");
  }

  Form form_;
  Fuel& fuel_;
  size_t states_ = 0;
};

}  // namespace

size_t StatesOf(const Rule& rule) {
  if (const auto* leaf = std::get_if<Leaf>(&rule)) return leaf->size();
  if (const auto* object = std::get_if<Object>(&rule)) return object->keys.size();
  const auto* automaton = std::get_if<Automaton>(&rule);
  return automaton == nullptr ? 1 : automaton->states.size();
}

Result<Form> CompileRules(const RuleSet& set, Fuel* fuel) {
  RuleCompiler compiler(set, fuel);
  const auto rules = static_cast<uint32_t>(set.rules.size());
  for (uint32_t rule = 0; rule < rules; ++rule)
    RETURN_IF_ERROR(compiler.Compile(rule, set.rules[rule]));
  for (uint32_t part = 0; part < set.parts.size(); ++part)
    RETURN_IF_ERROR(compiler.Append(rules + part, *set.parts[part]));
  Form form = compiler.Take();
  // Once, of all together: whether a rule can end, and how deep it has to nest for that, hangs on
  // those that it calls. What parts know of this is not taken over.
  RETURN_IF_ERROR(Trim(fuel, &form));
  return form;
}

}  // namespace skald::grammar
