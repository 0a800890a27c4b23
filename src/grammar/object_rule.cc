#include "grammar/object_rule.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "grammar/containers.h"
#include "grammar/determinize.h"
#include "grammar/product.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_values.h"
#include "grammar/string_rule.h"

namespace skald::grammar {

namespace {

// A schema with keywords of properties.
struct Source {
  std::optional<JsonValue> properties;
  std::optional<JsonValue> additional;
  std::vector<size_t> patterns;  // numbers of its patternProperties
};

struct Pattern {
  JsonValue schema;
  Automaton automaton;
};

uint32_t Bound(uint64_t bound) {
  return bound >= kUnbounded ? kUnbounded : static_cast<uint32_t>(bound);
}

// The state of `tree` at the end of each of `texts`, which it was made of.
std::map<uint32_t, uint32_t> EndsOf(const Automaton& tree, const std::vector<std::string>& texts) {
  std::map<uint32_t, uint32_t> ends;
  for (uint32_t i = 0; i < texts.size(); ++i) {
    uint32_t state = 0;
    for (const char c : texts[i]) {
      const std::vector<ByteEdge>& edges = tree.states[state].bytes;
      const auto byte = static_cast<uint8_t>(c);
      const auto edge = std::lower_bound(edges.begin(), edges.end(), byte,
                                         [](const ByteEdge& e, uint8_t b) { return e.low < b; });
      state = edge->target;
    }
    ends.emplace(state, i);
  }
  return ends;
}

class ObjectBuilder {
 public:
  ObjectBuilder(const SchemaFacts& facts, SchemaCompiler* compiler)
      : facts_(facts), compiler_(*compiler) {}

  Result<uint32_t> Build() {
    RETURN_IF_ERROR(ReadSources());
    RETURN_IF_ERROR(ReadNames());
    object_.min = Bound(facts_.properties.min);
    object_.max = Bound(facts_.properties.max);
    CollectNames();
    RETURN_IF_ERROR(AddNamed());
    RETURN_IF_ERROR(AddKeys());
    return compiler_.AddObjectRule(std::move(object_));
  }

 private:
  Status ReadSources() {
    const SchemaDocument& document = compiler_.reader().document();
    for (const JsonValue schema : facts_.objects) {
      Source source{document.Member(schema, "properties"),
                    document.Member(schema, "additionalProperties"),
                    {}};
      const std::optional<JsonValue> patterns = document.Member(schema, "patternProperties");
      if (patterns.has_value()) RETURN_IF_ERROR(ReadPatterns(*patterns, &source));
      sources_.push_back(std::move(source));
    }
    return Ok();
  }

  Status ReadPatterns(JsonValue patterns, Source* source) {
    for (const JsonValue schema : patterns) {
      Result<Nfa> nfa = PatternText(schema.name(), compiler_.key_spelling(), &compiler_.fuel());
      if (!nfa.ok()) {
        if (nfa.status().code() != ErrorCode::kUnsupported)
          return std::move(nfa).status().WithContext(compiler_.reader().document().Pointer(schema));
        RETURN_IF_ERROR(compiler_.reader().LeaveOut(schema, nfa.status().message()));
        // What its keys hold is then open, as are those that match no pattern.
        source->additional = std::nullopt;
        continue;
      }
      ASSIGN_OR_RETURN(Automaton automaton, Deterministic(*nfa, &compiler_.fuel()));
      source->patterns.push_back(patterns_.size());
      patterns_.push_back({schema, std::move(automaton)});
    }
    return Ok();
  }

  // Which texts may be keys at all.
  Status ReadNames() {
    SchemaFacts names;
    for (const JsonValue schema : facts_.names)
      RETURN_IF_ERROR(compiler_.reader().Merge(schema, &names));
    if (!names.choices.empty()) {
      RETURN_IF_ERROR(compiler_.reader().LeaveOut(facts_.names.front(),
                                                  "anyOf and oneOf are not supported for names"));
      names = {};
    }
    names.types &= kStringType;
    if (names.never || names.types == 0) {
      key_texts_ = std::vector<std::string>();
    } else {
      ASSIGN_OR_RETURN(const std::optional<std::vector<JsonValue>> listed,
                       ListedValues(names, &compiler_.reader()));
      if (listed.has_value()) {
        key_texts_.emplace();
        for (const JsonValue text : *listed)
          if (compiler_.CanBeKey(*text.AsString())) key_texts_->push_back(Key(*text.AsString()));
      }
    }
    ASSIGN_OR_RETURN(keys_, KeyAutomaton(names));
    return Ok();
  }

  Result<Automaton> KeyAutomaton(const SchemaFacts& names) {
    if (key_texts_.has_value()) return OneOf(*key_texts_, &compiler_.fuel());
    std::vector<Automaton> all;
    for (const auto* list : {&names.patterns, &names.formats}) {
      for (const JsonValue keyword : *list) {
        ASSIGN_OR_RETURN(Automaton automaton,
                         PatternAutomaton(keyword, compiler_.key_spelling(), &compiler_.fuel()));
        all.push_back(std::move(automaton));
      }
    }
    if (names.length.IsOpen() && all.size() == 1) return std::move(all.front());
    if (names.length.IsOpen() && all.empty()) {
      ASSIGN_OR_RETURN(const Automaton* any, compiler_.FreeKeys());
      return *any;
    }
    ASSIGN_OR_RETURN(Automaton lengths,
                     LengthText(names.length, compiler_.key_spelling(), &compiler_.fuel()));
    if (all.empty()) return lengths;
    all.push_back(std::move(lengths));
    return Intersection(all, &compiler_.fuel());
  }

  // Declared names in the order in which they are first mentioned, then required ones.
  void CollectNames() {
    const auto add = [&](std::string_view name) {
      const auto [entry, is_new] =
          numbers_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size()));
      if (is_new) names_.emplace_back(name);
    };
    for (const Source& source : sources_)
      if (source.properties.has_value())
        for (const JsonValue property : *source.properties) add(property.name());
    object_.declared = static_cast<uint32_t>(names_.size());
    for (const JsonValue name : facts_.required) add(*name.AsString());
    object_.named = static_cast<uint32_t>(names_.size());
  }

  Status AddNamed() {
    std::vector<uint8_t> required(names_.size());
    for (const JsonValue name : facts_.required)
      required[numbers_.find(*name.AsString())->second] = 1;
    for (uint32_t i = 0; i < names_.size(); ++i) {
      const int64_t cost =
          4 + static_cast<int64_t>(sources_.size() + patterns_.size() * (names_[i].size() + 2));
      if (!compiler_.fuel().Spend(cost)) return compiler_.fuel().Error();
      ASSIGN_OR_RETURN(const uint32_t rule, NamedRule(names_[i]));
      object_.members.push_back({rule, required[i] != 0});
    }
    return Ok();
  }

  std::string Key(std::string_view name) const {
    return SpelledText(name, compiler_.key_spelling());
  }

  Result<uint32_t> NamedRule(const std::string& name) {
    const std::string quoted = Key(name);
    std::vector<bool> matches;
    for (const Pattern& pattern : patterns_) matches.push_back(Takes(pattern.automaton, quoted));
    if (!Takes(keys_, quoted) || !compiler_.CanBeKey(name)) return Never();
    return compiler_.MemberRule(&name, SchemasOf(&name, matches));
  }

  // What binds the value of a key that matches these patterns.
  std::vector<JsonValue> SchemasOf(const std::string* name, const std::vector<bool>& matches) {
    std::vector<JsonValue> schemas;
    for (const Source& source : sources_) {
      bool found = false;
      if (name != nullptr && source.properties.has_value()) {
        const std::optional<JsonValue> property =
            compiler_.reader().document().Member(*source.properties, *name);
        if (property.has_value()) schemas.push_back(*property);
        found = property.has_value();
      }
      for (const size_t pattern : source.patterns) {
        if (!matches[pattern]) continue;
        schemas.push_back(patterns_[pattern].schema);
        found = true;
      }
      if (!found && source.additional.has_value()) schemas.push_back(*source.additional);
    }
    return schemas;
  }

  // A rule of nothing, for keys that may not come.
  uint32_t Never() {
    if (!never_.has_value()) {
      const Result<uint32_t> rule = compiler_.AddRule(Automaton{{AutomatonState{}}});
      never_ = rule.ok() ? *rule : 0;  // one state more is always there: the next rule says so
    }
    return *never_;
  }

  // The member of free keys that match these patterns.
  Result<uint32_t> FreeMember(const std::vector<bool>& matches) {
    const auto [entry, is_new] =
        free_.try_emplace(matches, static_cast<uint32_t>(object_.members.size()));
    if (!is_new) return entry->second;
    ASSIGN_OR_RETURN(const uint32_t rule,
                     compiler_.MemberRule(nullptr, SchemasOf(nullptr, matches)));
    object_.members.push_back({rule, false});
    return entry->second;
  }

  bool IsClosed() {
    if (!patterns_.empty()) return false;
    // Between names without quotes one that no schema speaks of is a slip: models write none.
    const bool says_nothing =
        std::none_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return source.additional.has_value(); });
    if (compiler_.writes_bare_keys() && says_nothing && !names_.empty() &&
        object_.min <= names_.size())
      return true;
    return std::any_of(sources_.begin(), sources_.end(), [](const Source& source) {
      return source.additional.has_value() && source.additional->AsBool() == false;
    });
  }

  Status AddKeys() {
    std::vector<std::string> quoted;
    for (const std::string& name : names_) quoted.push_back(Key(name));
    ASSIGN_OR_RETURN(Automaton tree, OneOf(quoted, &compiler_.fuel()));
    const std::map<uint32_t, uint32_t> ends = EndsOf(tree, quoted);
    if (IsClosed()) {
      object_.keys = MakeLeaf(tree);
      object_.ends.assign(tree.states.size(), Object::kNoMember);
      for (const auto& [state, member] : ends) object_.ends[state] = member;
      return Ok();
    }
    ASSIGN_OR_RETURN(const Automaton* undeclared, compiler_.UndeclaredKeys());
    if (undeclared != nullptr) {
      const std::array<Automaton, 2> both = {std::move(keys_), *undeclared};
      ASSIGN_OR_RETURN(keys_, Intersection(both, &compiler_.fuel()));
    }
    std::vector<Automaton> all;
    all.push_back(std::move(tree));
    all.push_back(std::move(keys_));
    for (Pattern& pattern : patterns_) all.push_back(std::move(pattern.automaton));
    return AddProduct(all, ends);
  }

  Status AddProduct(const std::vector<Automaton>& all, const std::map<uint32_t, uint32_t>& ends) {
    ProductRules rules;
    rules.alive = [](const States& states) { return states[0] != kGone || states[1] != kGone; };
    rules.label = [&](const States& states) -> Result<uint32_t> {
      const auto named = ends.find(states[0]);
      if (states[0] != kGone && named != ends.end()) return named->second;
      if (states[1] == kGone || !all[1].states[states[1]].accepting) return kNoLabel;
      std::vector<bool> matches;
      for (size_t i = 2; i < states.size(); ++i)
        matches.push_back(states[i] != kGone && all[i].states[states[i]].accepting);
      return FreeMember(matches);
    };
    ASSIGN_OR_RETURN(Product product, MakeProduct(all, rules, &compiler_.fuel()));
    object_.keys = MakeLeaf(product.automaton);
    object_.ends = std::move(product.labels);
    return Ok();
  }

  const SchemaFacts& facts_;
  SchemaCompiler& compiler_;
  Object object_;
  std::vector<Source> sources_;
  std::vector<Pattern> patterns_;
  std::vector<std::string> names_;
  std::map<std::string, uint32_t, std::less<>> numbers_;  // of names_
  std::optional<std::vector<std::string>> key_texts_;     // the only ones that may be keys
  Automaton keys_;
  std::map<std::vector<bool>, uint32_t> free_;  // members, by the patterns that match
  std::optional<uint32_t> never_;
};

static_assert(kNoLabel == Object::kNoMember);

}  // namespace

Result<uint32_t> AddObject(const SchemaFacts& facts, SchemaCompiler* compiler) {
  return ObjectBuilder(facts, compiler).Build();
}

Result<uint32_t> AddListedObject(JsonValue value, SchemaCompiler* compiler) {
  Object object;
  std::vector<std::string> keys;
  for (const JsonValue member : value) {
    // A rule of nothing where the key cannot be written.
    ASSIGN_OR_RETURN(const uint32_t rule, compiler->CanBeKey(member.name())
                                              ? compiler->ListedMember(member)
                                              : compiler->AddRule(Automaton{{AutomatonState{}}}));
    object.members.push_back({rule, true});
    keys.push_back(SpelledText(member.name(), compiler->key_spelling()));
  }
  object.declared = object.named = static_cast<uint32_t>(keys.size());
  ASSIGN_OR_RETURN(const Automaton tree, OneOf(keys, &compiler->fuel()));
  object.keys = MakeLeaf(tree);
  object.ends.assign(tree.states.size(), Object::kNoMember);
  for (const auto& [state, member] : EndsOf(tree, keys)) object.ends[state] = member;
  return compiler->AddObjectRule(std::move(object));
}

}  // namespace skald::grammar
