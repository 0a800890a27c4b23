#include "grammar/used_symbols.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace skald::grammar {

namespace {

class Collector {
 public:
  explicit Collector(const Form& form) : form_(form), met_(form.rules.size()) {}

  UsedSymbols Run() {
    Meet(form_.root);
    while (!open_.empty()) {
      const uint32_t rule = open_.back();
      open_.pop_back();
      std::visit([&](const auto& kind) { Visit(kind); }, form_.rules[rule]);
    }
    return std::move(used_);
  }

 private:
  void Meet(uint32_t rule) {
    if (rule == kNoRule || met_[rule]) return;
    met_[rule] = 1;
    open_.push_back(rule);
  }

  void Visit(const Automaton& automaton) {
    for (const AutomatonState& state : automaton.states) {
      for (const ByteEdge& edge : state.bytes)
        for (int byte = edge.low; byte <= edge.high; ++byte) used_.bytes.set(byte);
      for (const TokenEdge& edge : state.tokens) used_.tokens.insert(edge.token);
      for (const RuleEdge& edge : state.rules) Meet(edge.rule);
    }
  }
  void Visit(const Leaf& leaf) {
    std::vector<uint8_t> used(leaf.class_count);
    for (size_t i = 0; i < leaf.next.size(); ++i)
      if (leaf.next[i] != Leaf::kDead) used[i % leaf.class_count] = 1;
    for (int byte = 0; byte < 256; ++byte)
      if (used[leaf.class_of[byte]]) used_.bytes.set(byte);
  }
  void Visit(const Counted& counted) { Meet(counted.rule); }
  void Visit(const Array& array) {
    Add("[],", array.blanks);
    for (const uint32_t rule : array.prefix) Meet(rule);
    Meet(array.rest);
  }
  void Visit(const Object& object) {
    if (!object.is_bare) Add("{}:,", object.blanks);
    Meet(object.before_first);
    Meet(object.before_next);
    if (object.keys.class_count > 0) Visit(object.keys);
    for (const Member& member : object.members) Meet(member.rule);
  }
  void Add(std::string_view marks, Blanks blanks) {
    for (const char mark : marks) used_.bytes.set(static_cast<uint8_t>(mark));
    if (blanks == Blanks::kNone) return;
    for (const char blank : {' ', '\n', '\t'}) used_.bytes.set(static_cast<uint8_t>(blank));
  }

  const Form& form_;
  std::vector<uint8_t> met_;    // [rule]
  std::vector<uint32_t> open_;  // rules to be visited
  UsedSymbols used_;
};

}  // namespace

UsedSymbols UsedSymbolsOf(const Form& form) { return Collector(form).Run(); }

}  // namespace skald::grammar
