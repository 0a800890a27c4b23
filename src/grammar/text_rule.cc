#include "grammar/text_rule.h"

#include <utility>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/product.h"
#include "grammar/regex.h"
#include "grammar/schema_values.h"

namespace skald::grammar {

namespace {

Result<Nfa> NfaOf(JsonValue keyword, TextSpelling spelling, Fuel* fuel) {
  const std::string_view text = *keyword.AsString();
  return PatternText(keyword.name() == "format" ? FormatPattern(text) : text, spelling, fuel);
}

// Texts of any length, or of a length that is counted.
Result<Rule> FreeRule(const StringLength& length, const TextStyle& style, Fuel* fuel) {
  if (style.spelling != TextSpelling::kBare) {
    ASSIGN_OR_RETURN(Leaf leaf, FreeString(length, style.spelling, fuel));
    return Rule(std::move(leaf));
  }
  ASSIGN_OR_RETURN(Leaf leaf, BareLeaf(*style.within, length));
  return Rule(std::move(leaf));
}

}  // namespace

Result<Rule> TextRule(const SchemaFacts& facts, const TextStyle& style, Fuel* fuel) {
  std::vector<JsonValue> patterns = facts.patterns;
  patterns.insert(patterns.end(), facts.formats.begin(), facts.formats.end());
  const bool may_count = facts.length.IsOpen() || !style.lacks_texts;
  if (patterns.empty() && may_count) return FreeRule(facts.length, style, fuel);
  if (patterns.size() == 1 && facts.length.IsOpen() && style.within == nullptr) {
    ASSIGN_OR_RETURN(const Nfa nfa, NfaOf(patterns.front(), style.spelling, fuel));
    return MakeRule(nfa, fuel);
  }
  std::vector<Automaton> all;
  for (const JsonValue keyword : patterns) {
    ASSIGN_OR_RETURN(Automaton automaton, PatternAutomaton(keyword, style.spelling, fuel));
    all.push_back(std::move(automaton));
  }
  if (!facts.length.IsOpen()) {
    ASSIGN_OR_RETURN(Automaton automaton, LengthText(facts.length, style.spelling, fuel));
    all.push_back(std::move(automaton));
  }
  if (style.within != nullptr) all.push_back(*style.within);
  ASSIGN_OR_RETURN(const Automaton both, Intersection(all, fuel));
  return Rule(MakeLeaf(both));
}

Result<Automaton> PatternAutomaton(JsonValue keyword, TextSpelling spelling, Fuel* fuel) {
  ASSIGN_OR_RETURN(const Nfa nfa, NfaOf(keyword, spelling, fuel));
  return Deterministic(nfa, fuel);
}

std::string SpelledText(std::string_view text, TextSpelling spelling) {
  return spelling == TextSpelling::kBare ? std::string(text) : Quoted(text);
}

bool CanStand(std::string_view text, const TextStyle& style) {
  return style.within == nullptr || Takes(*style.within, text);
}

Automaton WithoutClosers() {
  constexpr uint32_t kAny = 0;
  constexpr uint32_t kBehindLess = 1;
  Automaton automaton;
  automaton.states.resize(2);
  for (AutomatonState& state : automaton.states) state.accepting = true;
  static_assert('/' < '<');
  automaton.states[kAny].bytes = {
      {0x00, '<' - 1, kAny}, {'<', '<', kBehindLess}, {'<' + 1, 0xFF, kAny}};
  automaton.states[kBehindLess].bytes = {{0x00, '/' - 1, kAny},
                                         {'/' + 1, '<' - 1, kAny},
                                         {'<', '<', kBehindLess},
                                         {'<' + 1, 0xFF, kAny}};
  return automaton;
}

Result<Automaton> WithoutNull(Fuel* fuel) {
  ASSIGN_OR_RETURN(const Nfa nfa, RegexNfa(R"([ \t\r\n]*(null|None)[ \t\r\n]*)", RegexMatch::kWhole,
                                           Spelling::kUtf8, fuel));
  ASSIGN_OR_RETURN(Automaton automaton, Deterministic(nfa, fuel));
  // The complement: what has no edge leads to a state of all texts.
  const auto all = static_cast<uint32_t>(automaton.states.size());
  automaton.states.emplace_back();
  for (AutomatonState& state : automaton.states) {
    state.accepting = !state.accepting;
    std::vector<ByteEdge> edges;
    uint32_t next = 0;
    for (const ByteEdge& edge : state.bytes) {
      if (edge.low > next)
        edges.push_back({static_cast<uint8_t>(next), static_cast<uint8_t>(edge.low - 1), all});
      edges.push_back(edge);
      next = uint32_t{edge.high} + 1;
    }
    if (next <= 0xFF) edges.push_back({static_cast<uint8_t>(next), 0xFF, all});
    state.bytes = std::move(edges);
  }
  return automaton;
}

}  // namespace skald::grammar
