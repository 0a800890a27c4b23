#include "grammar/string_rule.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/limits.h"
#include "grammar/regex.h"
#include "grammar/thompson.h"

namespace skald::grammar {

namespace {

// One character of a string in any spelling of RFC 8259.
constexpr std::string_view kAnySpelling =
    R"([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u([0-9a-cefA-CEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}|)"
    R"([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})))";

// Where it ends nothing of it can follow, so that characters can be counted.
Result<Automaton> UnitOf(std::string_view regex, Fuel* fuel) {
  ASSIGN_OR_RETURN(const Nfa nfa, RegexNfa(regex, RegexMatch::kWhole, Spelling::kUtf8, fuel));
  return Deterministic(nfa, fuel);
}

// One character in its one spelling.
Result<Automaton> Unit(Spelling spelling, Fuel* fuel) {
  Nfa nfa;
  nfa.start = nfa.AddState();
  const uint32_t last = nfa.AddState();
  nfa.AddCharacters(nfa.start, last, AllCharacters(), spelling);
  if (!FinishNfa(last, fuel, &nfa)) return fuel->Error();
  return Deterministic(nfa, fuel);
}

void AddQuote(uint32_t from, uint32_t to, Automaton* automaton) {
  automaton->states[from].bytes.push_back({'"', '"', to});
}

// Adds the states of `unit` but its ends, which become `to`, and its start, which is `from`.
void AddUnit(const Automaton& unit, uint32_t from, uint32_t to, Automaton* automaton) {
  std::vector<uint32_t> number(unit.states.size());
  for (size_t i = 0; i < unit.states.size(); ++i) {
    if (i == 0) {
      number[i] = from;
    } else if (unit.states[i].accepting) {
      number[i] = to;
    } else {
      number[i] = static_cast<uint32_t>(automaton->states.size());
      automaton->states.emplace_back();
    }
  }
  for (size_t i = 0; i < unit.states.size(); ++i) {
    if (i > 0 && unit.states[i].accepting) continue;
    for (const ByteEdge& edge : unit.states[i].bytes)
      automaton->states[number[i]].bytes.push_back({edge.low, edge.high, number[edge.target]});
  }
}

// Each state once more, for a text that ends in "<": no slash follows there.
void ForbidClosers(Automaton* automaton) {
  const auto count = static_cast<uint32_t>(automaton->states.size());
  for (uint32_t state = 0; state < count; ++state) {
    AutomatonState behind_less = {.accepting = automaton->states[state].accepting};
    std::vector<ByteEdge> edges;
    for (const ByteEdge& edge : automaton->states[state].bytes) {
      // In pieces: below the slash, it, up to "<", it, the rest.
      const auto piece = [&](int low, int high, uint32_t target, bool is_slash) {
        const ByteEdge part = {static_cast<uint8_t>(std::max<int>(low, edge.low)),
                               static_cast<uint8_t>(std::min<int>(high, edge.high)), target};
        if (std::max<int>(low, edge.low) > std::min<int>(high, edge.high)) return;
        edges.push_back(part);
        if (!is_slash) behind_less.bytes.push_back(part);
      };
      piece(0x00, '/' - 1, edge.target, false);
      piece('/', '/', edge.target, true);
      piece('/' + 1, '<' - 1, edge.target, false);
      piece('<', '<', edge.target + count, false);
      piece('<' + 1, 0xFF, edge.target, false);
    }
    automaton->states[state].bytes = std::move(edges);
    automaton->states.push_back(std::move(behind_less));
  }
}

void SortEdges(Automaton* automaton) {
  for (AutomatonState& state : automaton->states)
    std::sort(state.bytes.begin(), state.bytes.end(),
              [](const ByteEdge& a, const ByteEdge& b) { return a.low < b.low; });
}

Status CheckLength(const StringLength& length) {
  constexpr uint64_t kMost = uint64_t{1} << 31;
  if (length.min > kMost && length.min <= length.max)
    return Status(ErrorCode::kInvalidArgument,
                  "a text of at least " + std::to_string(length.min) + " characters");
  return Ok();
}

// Makes `leaf` count, if `length` says anything.
void Count(const StringLength& length, std::vector<Boundary> boundary, Leaf* leaf) {
  if (length.IsOpen()) return;
  leaf->boundary = std::move(boundary);
  leaf->min = static_cast<uint32_t>(length.min);
  // No text has as many characters: the bound says nothing.
  leaf->max = length.max >= kUnbounded ? kUnbounded : static_cast<uint32_t>(length.max);
}

}  // namespace

Result<Leaf> FreeString(const StringLength& length, TextSpelling spelling, Fuel* fuel) {
  RETURN_IF_ERROR(CheckLength(length));
  const bool one_spelling = spelling == TextSpelling::kPython;
  ASSIGN_OR_RETURN(const Automaton unit,
                   one_spelling ? Unit(Spelling::kJsonString, fuel) : UnitOf(kAnySpelling, fuel));
  // The opening quote, the place behind it, that behind a character, the end.
  constexpr uint32_t kBegin = 1;
  constexpr uint32_t kFinished = 2;
  constexpr uint32_t kEnd = 3;
  Automaton automaton;
  automaton.states.resize(4);
  automaton.states[kEnd].accepting = true;
  AddQuote(0, kBegin, &automaton);
  AddUnit(unit, kFinished, kFinished, &automaton);
  automaton.states[kBegin].bytes = automaton.states[kFinished].bytes;
  AddQuote(kBegin, kEnd, &automaton);
  AddQuote(kFinished, kEnd, &automaton);
  SortEdges(&automaton);
  std::vector<Boundary> boundary(automaton.states.size(), Boundary::kInside);
  boundary[kBegin] = Boundary::kBetween;
  boundary[kFinished] = Boundary::kFinished;
  if (spelling == TextSpelling::kJsonInside) {
    ForbidClosers(&automaton);
    for (uint32_t i = 0, count = static_cast<uint32_t>(boundary.size()); i < count; ++i)
      boundary.push_back(boundary[i]);
  }
  Leaf leaf = MakeLeaf(automaton);
  Count(length, std::move(boundary), &leaf);
  return leaf;
}

Result<Leaf> BareLeaf(const Automaton& texts, const StringLength& length) {
  RETURN_IF_ERROR(CheckLength(length));
  Leaf leaf = MakeLeaf(texts);
  std::vector<Boundary> boundary;
  for (const AutomatonState& state : texts.states)
    boundary.push_back(state.accepting ? Boundary::kFinished : Boundary::kInside);
  Count(length, std::move(boundary), &leaf);
  leaf.ends_between = !leaf.boundary.empty();
  return leaf;
}

Result<Nfa> PatternText(std::string_view pattern, TextSpelling spelling, Fuel* fuel) {
  if (spelling == TextSpelling::kBare)
    return RegexNfa(pattern, RegexMatch::kSearch, Spelling::kUtf8, fuel);
  ASSIGN_OR_RETURN(Nfa nfa, RegexNfa(pattern, RegexMatch::kSearch, Spelling::kJsonString, fuel));
  const uint32_t begin = nfa.AddState();
  const uint32_t end = nfa.AddState();
  // What leads to no end has no edges left: of an expression that no text matches not even the
  // quotation mark may come.
  const bool matches = nfa.accepting[nfa.start] != 0 || !nfa.edges(nfa.start).empty();
  if (matches) nfa.AddText(begin, nfa.start, "\"");
  for (uint32_t state = 0; state < begin; ++state)
    if (nfa.accepting[state]) nfa.AddText(state, end, "\"");
  nfa.accepting.assign(nfa.size(), 0);
  nfa.accepting[end] = 1;
  nfa.start = begin;
  return nfa;
}

Result<Automaton> LengthText(const StringLength& length, TextSpelling spelling, Fuel* fuel) {
  const bool is_bare = spelling == TextSpelling::kBare;
  ASSIGN_OR_RETURN(const Automaton unit,
                   Unit(is_bare ? Spelling::kUtf8 : Spelling::kJsonString, fuel));
  const bool bounded = length.max != std::numeric_limits<uint64_t>::max();
  const uint64_t copies = bounded ? length.max : length.min;
  if (copies > kStatesMax / unit.states.size())
    return Status(ErrorCode::kInvalidArgument,
                  "needs more than " + std::to_string(kStatesMax) + " states");
  if (!fuel->Spend(static_cast<int64_t>((copies + 2) * unit.states.size()))) return fuel->Error();
  Automaton automaton;
  automaton.states.resize(3);
  constexpr uint32_t kEnd = 1;
  automaton.states[kEnd].accepting = true;
  // Without quotes a text begins and ends where its characters do.
  uint32_t place = is_bare ? 0 : 2;
  if (is_bare)
    automaton.states[kEnd].accepting = false;
  else
    AddQuote(0, place, &automaton);
  for (uint64_t count = 0;; ++count) {
    if (count >= length.min) {
      automaton.states[place].accepting = is_bare;
      if (!is_bare) AddQuote(place, kEnd, &automaton);
    }
    if (count == copies) break;
    const auto next = static_cast<uint32_t>(automaton.states.size());
    automaton.states.emplace_back();
    AddUnit(unit, place, next, &automaton);
    place = next;
  }
  if (!bounded) AddUnit(unit, place, place, &automaton);
  SortEdges(&automaton);
  return automaton;
}

Result<Automaton> OneOf(std::span<const std::string> texts, Fuel* fuel) {
  // A tree of the texts, which is deterministic as it grows.
  Automaton automaton;
  automaton.states.resize(1);
  for (const std::string& text : texts) {
    if (!fuel->Spend(4 * static_cast<int64_t>(text.size()) + 1)) return fuel->Error();
    uint32_t state = 0;
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      std::vector<ByteEdge>& edges = automaton.states[state].bytes;
      auto edge = std::lower_bound(edges.begin(), edges.end(), byte,
                                   [](const ByteEdge& e, uint8_t b) { return e.low < b; });
      if (edge != edges.end() && edge->low == byte) {
        state = edge->target;
        continue;
      }
      const auto next = static_cast<uint32_t>(automaton.states.size());
      edges.insert(edge, {byte, byte, next});
      automaton.states.emplace_back();
      state = next;
    }
    automaton.states[state].accepting = true;
  }
  if (automaton.states.size() > kStatesMax)
    return Status(ErrorCode::kInvalidArgument,
                  "needs more than " + std::to_string(kStatesMax) + " states");
  return automaton;
}

std::string Quoted(std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::string quoted = "\"";
  for (const char c : text) {
    const size_t found = kShort.find(c);
    const auto byte = static_cast<uint8_t>(c);
    if (found != std::string_view::npos)
      (quoted += '\\') += kLetters[found];
    else if (byte < 0x20)
      ((quoted += "\\u00") += kHexDigits[byte >> 4]) += kHexDigits[byte & 15];
    else
      quoted += c;
  }
  return quoted + "\"";
}

}  // namespace skald::grammar
