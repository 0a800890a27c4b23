#include "grammar/free_text.h"

#include <array>
#include <utility>

#include "base/status_macros.h"
#include "grammar/char_set.h"
#include "grammar/determinize.h"
#include "grammar/nfa.h"
#include "grammar/product.h"
#include "grammar/thompson.h"
#include "grammar/trim.h"

namespace skald::grammar {

namespace {

// Texts that no beginning of is forbidden: all bytes, whole characters or not.
Result<Automaton> Unforbidden(const Forbidden& forbidden, Fuel* fuel) {
  Nfa nfa;
  nfa.start = nfa.AddState();
  const uint32_t anywhere = nfa.AddState();
  const uint32_t bad = nfa.AddState();
  nfa.AddEmpty(nfa.start, anywhere);
  nfa.AddEdge(anywhere, {NfaEdgeKind::kBytes, 0x00, 0xFF, anywhere});
  RETURN_IF_ERROR(AddExpression(forbidden.anywhere, anywhere, bad, {}, fuel, &nfa));
  RETURN_IF_ERROR(AddExpression(forbidden.at_begin, nfa.start, bad, {}, fuel, &nfa));
  nfa.accepting.assign(nfa.size(), 0);
  nfa.accepting[bad] = 1;
  ASSIGN_OR_RETURN(Automaton automaton, Deterministic(nfa, fuel));
  // What is forbidden was told by where it ends: nothing leads there any more, all else is allowed.
  for (AutomatonState& state : automaton.states)
    std::erase_if(state.bytes,
                  [&](const ByteEdge& edge) { return automaton.states[edge.target].accepting; });
  for (AutomatonState& state : automaton.states) state.accepting = !state.accepting;
  return automaton;
}

Result<Automaton> WholeCharacters(Fuel* fuel) {
  Nfa nfa;
  nfa.start = nfa.AddState();
  nfa.AddCharacters(nfa.start, nfa.start, AllCharacters(), Spelling::kUtf8);
  nfa.accepting.assign(nfa.size(), 0);
  nfa.accepting[nfa.start] = 1;
  return Deterministic(nfa, fuel);
}

}  // namespace

Result<Automaton> FreeTextAutomaton(const Forbidden& forbidden, Fuel* fuel) {
  ASSIGN_OR_RETURN(Automaton unforbidden, Unforbidden(forbidden, fuel));
  ASSIGN_OR_RETURN(Automaton characters, WholeCharacters(fuel));
  const std::array<Automaton, 2> both = {std::move(unforbidden), std::move(characters)};
  return Intersection(both, fuel);
}

Result<Form> FreeText(const Forbidden& forbidden, Fuel* fuel) {
  ASSIGN_OR_RETURN(const Automaton text, FreeTextAutomaton(forbidden, fuel));
  Form form;
  form.rules.emplace_back(MakeLeaf(text));
  RETURN_IF_ERROR(Trim(fuel, &form));
  return form;
}

}  // namespace skald::grammar
