#include "grammar/thompson.h"

#include <string>
#include <vector>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "grammar/limits.h"

namespace skald::grammar {

namespace {

std::string Utf8Of(const std::u32string& text) {
  std::string bytes;
  for (const char32_t character : text) AppendUtf8(character, &bytes);
  return bytes;
}

Status TooManyStates() {
  return Status(ErrorCode::kInvalidArgument,
                "needs more than " + std::to_string(kStatesMax) + " states");
}

class Builder {
 public:
  Builder(const ThompsonOptions& options, Fuel* fuel, Nfa* nfa)
      : options_(options), fuel_(*fuel), nfa_(*nfa) {}

  Status Add(const Expression& expression, uint32_t from, uint32_t to) {
    if (nfa_.size() > kStatesMax) return TooManyStates();
    if (!fuel_.Spend(1)) return fuel_.Error();
    switch (expression.kind) {
      case ExpressionKind::kText: return AddText(expression.text, from, to);
      case ExpressionKind::kSet:
        if (!fuel_.Spend(static_cast<int64_t>(expression.set.size()) * 8)) return fuel_.Error();
        nfa_.AddCharacters(from, to, expression.set, options_.spelling);
        return Ok();
      case ExpressionKind::kSequence: return AddSequence(expression.parts, from, to);
      case ExpressionKind::kChoice:
        for (const Expression& part : expression.parts) RETURN_IF_ERROR(Add(part, from, to));
        return Ok();
      case ExpressionKind::kRepeat: return AddRepeat(expression, from, to);
      case ExpressionKind::kBegin: nfa_.AddEdge(from, {NfaEdgeKind::kBegin, 0, 0, to}); return Ok();
      case ExpressionKind::kEnd: nfa_.AddEdge(from, {NfaEdgeKind::kEnd, 0, 0, to}); return Ok();
      case ExpressionKind::kRule:
        nfa_.AddEdge(from, {NfaEdgeKind::kRule, 0, 0, to, expression.rule});
        return Ok();
      case ExpressionKind::kToken:
        nfa_.AddEdge(from, {NfaEdgeKind::kToken, 0, 0, to, expression.rule});
        return Ok();
    }
    return Ok();
  }

 private:
  Status AddText(const std::u32string& text, uint32_t from, uint32_t to) {
    if (!fuel_.Spend(static_cast<int64_t>(text.size()) * 4)) return fuel_.Error();
    if (text.empty()) {
      nfa_.AddEmpty(from, to);
    } else if (options_.spelling == Spelling::kUtf8) {
      nfa_.AddText(from, to, Utf8Of(text));
    } else {
      for (size_t i = 0; i < text.size(); ++i) {
        const uint32_t next = i + 1 == text.size() ? to : nfa_.AddState();
        nfa_.AddCharacters(from, next, {{text[i], text[i]}}, options_.spelling);
        from = next;
      }
    }
    return Ok();
  }

  Status AddSequence(const std::vector<Expression>& parts, uint32_t from, uint32_t to) {
    if (parts.empty()) nfa_.AddEmpty(from, to);
    for (size_t i = 0; i < parts.size(); ++i) {
      const uint32_t next = i + 1 == parts.size() ? to : nfa_.AddState();
      RETURN_IF_ERROR(Add(parts[i], from, next));
      from = next;
    }
    return Ok();
  }

  Status AddRepeat(const Expression& repeat, uint32_t from, uint32_t to) {
    const bool bounded = repeat.max != kUnbounded;
    const uint32_t copies = bounded ? repeat.max : repeat.min;
    if (copies > 1 && options_.make_repeat != nullptr) {
      ASSIGN_OR_RETURN(const uint64_t states, StatesOf(repeat.parts.front()));
      if (states * copies > kCopiedStatesMax) {
        ASSIGN_OR_RETURN(const uint32_t rule, options_.make_repeat(repeat));
        nfa_.AddEdge(from, {NfaEdgeKind::kRule, 0, 0, to, rule});
        return Ok();
      }
    }
    const Expression& part = repeat.parts.front();
    uint32_t state = nfa_.AddState();
    nfa_.AddEmpty(from, state);
    for (uint32_t i = 0; i < copies; ++i) {
      if (i >= repeat.min) nfa_.AddEmpty(state, to);
      const uint32_t next = nfa_.AddState();
      RETURN_IF_ERROR(Add(part, state, next));
      state = next;
    }
    if (!bounded) {
      // A state of its own: nothing else leads into the middle of the loop.
      const uint32_t loop = nfa_.AddState();
      nfa_.AddEmpty(state, loop);
      RETURN_IF_ERROR(Add(part, loop, loop));
      state = loop;
    }
    nfa_.AddEmpty(state, to);
    return Ok();
  }

  // States that one copy of `part` takes: what it adds to an automaton that is thrown away. A
  // repetition in it counts as the rule that it will be.
  Result<uint64_t> StatesOf(const Expression& part) {
    Nfa scratch;
    ThompsonOptions options = options_;
    options.make_repeat = [](const Expression&) -> Result<uint32_t> { return 0U; };
    const uint32_t first = scratch.AddState();
    const uint32_t last = scratch.AddState();
    RETURN_IF_ERROR(Builder(options, &fuel_, &scratch).Add(part, first, last));
    return uint64_t{scratch.size()} - 1;
  }

  const ThompsonOptions& options_;
  Fuel& fuel_;
  Nfa& nfa_;
};

// The states that `from` leads to by edges of these kinds.
class Reach {
 public:
  Reach(const Nfa& nfa, Fuel* fuel) : nfa_(nfa), fuel_(*fuel), seen_(nfa.size()) {}

  bool From(uint32_t from, bool begin, bool end) {
    std::fill(seen_.begin(), seen_.end(), uint8_t{0});
    found_ = {from};
    seen_[from] = 1;
    for (size_t i = 0; i < found_.size(); ++i) {
      if (!fuel_.Spend(1 + static_cast<int64_t>(nfa_.edges(found_[i]).size()))) return false;
      for (const NfaEdge& edge : nfa_.edges(found_[i])) {
        const bool passes = edge.kind == NfaEdgeKind::kEmpty ||
                            (edge.kind == NfaEdgeKind::kBegin && begin) ||
                            (edge.kind == NfaEdgeKind::kEnd && end);
        if (!passes || seen_[edge.target]) continue;
        seen_[edge.target] = 1;
        found_.push_back(edge.target);
      }
    }
    return true;
  }
  const std::vector<uint32_t>& found() const { return found_; }
  bool Has(uint32_t state) const { return seen_[state] != 0; }

 private:
  const Nfa& nfa_;
  Fuel& fuel_;
  std::vector<uint8_t> seen_;
  std::vector<uint32_t> found_;
};

// For each state whether one of `marked` is reached from it by edges of kinds that `passes` names.
template <typename Passes>
std::vector<uint8_t> Backwards(const Nfa& nfa, std::vector<uint32_t> marked, Passes passes) {
  std::vector<std::vector<uint32_t>> sources(nfa.size());
  for (uint32_t state = 0; state < nfa.size(); ++state)
    for (const NfaEdge& edge : nfa.edges(state))
      if (passes(edge.kind)) sources[edge.target].push_back(state);
  std::vector<uint8_t> reached(nfa.size());
  for (const uint32_t state : marked) reached[state] = 1;
  while (!marked.empty()) {
    const uint32_t state = marked.back();
    marked.pop_back();
    for (const uint32_t source : sources[state]) {
      if (reached[source]) continue;
      reached[source] = 1;
      marked.push_back(source);
    }
  }
  return reached;
}

int64_t CountEdges(const Nfa& nfa) {
  int64_t count = 0;
  for (uint32_t state = 0; state < nfa.size(); ++state)
    count += 1 + static_cast<int64_t>(nfa.edges(state).size());
  return count;
}

}  // namespace

Status AddExpression(const Expression& expression, uint32_t from, uint32_t to,
                     const ThompsonOptions& options, Fuel* fuel, Nfa* nfa) {
  RETURN_IF_ERROR(Builder(options, fuel, nfa).Add(expression, from, to));
  return nfa->size() > kStatesMax ? TooManyStates() : Ok();
}

bool FinishNfa(uint32_t last, Fuel* fuel, Nfa* nfa) {
  if (!fuel->Spend(3 * CountEdges(*nfa))) return false;
  // Where the text begins, edges kBegin lead on; behind its first byte no more. So what they lead
  // to is entered from a new start, and only from there.
  Reach reach(*nfa, fuel);
  if (!reach.From(nfa->start, true, true)) return false;
  const bool takes_empty = reach.Has(last);
  if (!reach.From(nfa->start, true, false)) return false;
  const std::vector<uint32_t> first_states = reach.found();
  nfa->accepting = Backwards(*nfa, {last}, [](NfaEdgeKind kind) {
    return kind == NfaEdgeKind::kEmpty || kind == NfaEdgeKind::kEnd;
  });
  const uint32_t start = nfa->AddState();
  nfa->start = start;
  for (uint32_t state = 0; state < start; ++state) {
    std::erase_if(nfa->edges(state), [](const NfaEdge& edge) {
      return edge.kind == NfaEdgeKind::kBegin || edge.kind == NfaEdgeKind::kEnd;
    });
  }
  // The edges of bytes themselves, not empty edges to their states: a text may end in such a state
  // behind a byte, but not before the first one unless takes_empty says so.
  for (const uint32_t state : first_states)
    for (const NfaEdge& edge : nfa->edges(state))
      if (edge.kind != NfaEdgeKind::kEmpty) nfa->AddEdge(start, NfaEdge(edge));
  nfa->accepting.push_back(takes_empty ? 1 : 0);
  std::vector<uint32_t> ends;
  for (uint32_t state = 0; state <= start; ++state)
    if (nfa->accepting[state]) ends.push_back(state);
  const std::vector<uint8_t> live = Backwards(*nfa, ends, [](NfaEdgeKind) { return true; });
  for (uint32_t state = 0; state <= start; ++state)
    std::erase_if(nfa->edges(state), [&](const NfaEdge& edge) { return !live[edge.target]; });
  return true;
}

}  // namespace skald::grammar
