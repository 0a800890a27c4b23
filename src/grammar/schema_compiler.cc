#include "grammar/schema_compiler.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/disjoint.h"
#include "grammar/limits.h"
#include "grammar/object_rule.h"
#include "grammar/product.h"
#include "grammar/rule_set.h"
#include "grammar/schema_values.h"
#include "grammar/string_rule.h"
#include "grammar/trim.h"

namespace skald::grammar {

namespace {

// One of `rules`.
Automaton AnyOf(const std::vector<uint32_t>& rules) {
  Automaton automaton;
  automaton.states.resize(2);
  for (const uint32_t rule : rules) automaton.states[0].rules.push_back({rule, 1});
  automaton.states[1].accepting = true;
  return automaton;
}

Result<Rule> OpenNumber(const NumberRange& range, Fuel* fuel) {
  ASSIGN_OR_RETURN(const Automaton automaton, NumberAutomaton(range, fuel));
  return Rule(MakeLeaf(automaton));
}

// A bound as a rule holds it: beyond 32 bits there is none.
uint32_t Bound(uint64_t bound) {
  return bound >= kUnbounded ? kUnbounded : static_cast<uint32_t>(bound);
}

}  // namespace

SchemaCompiler::SchemaCompiler(const SchemaDocument& document, const SchemaOptions& options,
                               const ArgumentSyntax* syntax, Fuel* fuel)
    : reader_(document, options.mode, fuel),
      blanks_(options.any_whitespace && (syntax == nullptr || !syntax->is_nested())
                  ? Blanks::kShort
                  : Blanks::kNone),
      only_objects_(options.only_objects),
      syntax_(syntax) {}

Leaf SchemaCompiler::MakeTable(const Automaton& automaton) { return MakeLeaf(automaton); }

Result<Form> SchemaCompiler::Compile() {
  if (only_objects_) {
    // A rule of its own: what refers to the whole document is not held to it.
    form_.rules.emplace_back();
    pending_.push_back(
        {form_.root, {reader_.document().root()}, kObjectType, ValuePlace::kArguments});
  } else {
    form_.root = RuleOf({reader_.document().root()});
  }
  while (!pending_.empty()) {
    const Pending pending = std::move(pending_.back());
    pending_.pop_back();
    RETURN_IF_ERROR(Make(pending));
  }
  RETURN_IF_ERROR(Trim(&fuel(), &form_));
  return std::move(form_);
}

uint32_t SchemaCompiler::RuleOf(std::vector<JsonValue> schemas) {
  std::erase_if(schemas, [](const JsonValue& schema) { return schema.AsBool() == true; });
  std::vector<uint32_t> key;
  for (const JsonValue schema : schemas) key.push_back(schema.index());
  std::sort(key.begin(), key.end());
  key.erase(std::unique(key.begin(), key.end()), key.end());
  const auto [entry, is_new] =
      numbers_.try_emplace(std::move(key), static_cast<uint32_t>(form_.rules.size()));
  if (is_new) {
    form_.rules.emplace_back();
    pending_.push_back({entry->second, std::move(schemas)});
  }
  return entry->second;
}

Result<uint32_t> SchemaCompiler::AddRule(Rule rule) {
  states_ += StatesOf(rule);
  if (states_ > kStatesMax)
    return Status(ErrorCode::kInvalidArgument,
                  "needs more than " + std::to_string(kStatesMax) + " states");
  form_.rules.push_back(std::move(rule));
  return static_cast<uint32_t>(form_.rules.size() - 1);
}

Result<uint32_t> SchemaCompiler::Shared(std::string_view name,
                                        const std::function<Result<Rule>()>& make) {
  const auto found = shared_.find(name);
  if (found != shared_.end()) return found->second;
  ASSIGN_OR_RETURN(Rule rule, make());
  ASSIGN_OR_RETURN(const uint32_t number, AddRule(std::move(rule)));
  shared_.emplace(name, number);
  return number;
}

Status SchemaCompiler::MakeAlternatives(const Pending& pending, uint8_t types, Rules* rules) {
  SchemaFacts facts{.types = types};
  for (const JsonValue schema : pending.schemas) RETURN_IF_ERROR(reader_.Merge(schema, &facts));
  return AddAlternatives(std::move(facts), 0, rules);
}

Status SchemaCompiler::Make(const Pending& pending) {
  Rules rules;
  Status status = Ok();
  uint8_t types = pending.types;
  if (pending.place == ValuePlace::kTextOrNull) {
    // Whether null is a value tells which texts are: those that read as null are no texts then.
    place_ = ValuePlace::kArgument;
    status = MakeAlternatives(pending, kNullType, &rules);
    may_be_null_ = !rules.empty();
    types = kStringType;
  }
  place_ = pending.place;
  if (status.ok()) status = MakeAlternatives(pending, types, &rules);
  if (!status.ok()) {
    // What stands in a keyword has said where; a bound has not.
    const bool placed = status.message().starts_with('#') || pending.schemas.empty();
    if (placed) return status;
    return std::move(status).WithContext(reader_.document().Pointer(pending.schemas.front()));
  }
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  form_.rules[pending.rule] = AnyOf(rules);
  return Ok();
}

Status SchemaCompiler::AddAlternatives(SchemaFacts facts, int choices, Rules* rules) {
  if (facts.never) return Ok();
  if (!facts.choices.empty()) {
    const JsonValue choice = facts.choices.back();
    facts.choices.pop_back();
    return AddChoices(facts, choice, choices + 1, rules);
  }
  if (place_ == ValuePlace::kArguments && syntax_ != nullptr && !facts.values.empty()) {
    RETURN_IF_ERROR(reader_.LeaveOut(
        facts.values.front(), "listed arguments are not supported in the model's format of calls"));
    facts.values.clear();
  }
  ASSIGN_OR_RETURN(const std::optional<std::vector<JsonValue>> values,
                   ListedValues(facts, &reader_));
  return values.has_value() ? AddListed(*values, rules) : AddTypes(facts, rules);
}

Status SchemaCompiler::AddChoices(const SchemaFacts& facts, JsonValue choice, int choices,
                                  Rules* rules) {
  if (choices > kReferencesMax)
    return reader_.document().Error(
        ErrorCode::kInvalidArgument, choice,
        "more than " + std::to_string(kReferencesMax) + " choices that bind one value");
  const bool alone = facts.IsOpen() && facts.choices.empty();
  std::vector<SchemaFacts> branches;
  if (!alone || choice.name() == "oneOf") {
    for (const JsonValue schema : choice) {
      // Facts are copied for each branch; where choices multiply, this is what they cost.
      const size_t size = facts.objects.size() + facts.required.size() + facts.merged.size();
      if (!fuel().Spend(100 + static_cast<int64_t>(size))) return fuel().Error();
      branches.push_back(facts);
      RETURN_IF_ERROR(reader_.Merge(schema, &branches.back()));
    }
  }
  if (choice.name() == "oneOf") {
    ASSIGN_OR_RETURN(const bool disjoint, AreDisjoint(branches, &reader_));
    if (!disjoint) {
      RETURN_IF_ERROR(reader_.LeaveOut(
          choice,
          "branches that may overlap are not supported; write anyOf, or a property that "
          "tells them apart"));
      return AddAlternatives(facts, choices, rules);
    }
  }
  if (alone) {
    for (const JsonValue schema : choice) rules->push_back(RuleOf({schema}));
    return Ok();
  }
  for (SchemaFacts& branch : branches)
    RETURN_IF_ERROR(AddAlternatives(std::move(branch), choices, rules));
  return Ok();
}

Status SchemaCompiler::AddListed(std::span<const JsonValue> values, Rules* rules) {
  ASSIGN_OR_RETURN(const TextStyle style, StyleOfTexts());
  std::vector<std::string> others;
  std::vector<std::string> texts;
  for (const JsonValue value : values) {
    if (value.IsArray() || value.IsObject()) {
      ASSIGN_OR_RETURN(const uint32_t rule, ListedRule(value));
      rules->push_back(rule);
    } else if (value.IsString()) {
      std::string text = SpelledText(*value.AsString(), style.spelling);
      if (CanStand(text, style)) texts.push_back(std::move(text));
    } else {
      for (std::string& word : Words(ScalarText(value))) others.push_back(std::move(word));
    }
  }
  if (QuotesByMarks()) {
    RETURN_IF_ERROR(AddTexts(others, rules));
    Rules bare;
    RETURN_IF_ERROR(AddTexts(texts, &bare));
    if (bare.empty()) return Ok();
    ASSIGN_OR_RETURN(const uint32_t rule, Quoted(bare.front()));
    rules->push_back(rule);
    return Ok();
  }
  texts.insert(texts.end(), others.begin(), others.end());
  return AddTexts(texts, rules);
}

Status SchemaCompiler::AddTexts(const std::vector<std::string>& texts, Rules* rules) {
  if (texts.empty()) return Ok();
  ASSIGN_OR_RETURN(const Automaton automaton, OneOf(texts, &fuel()));
  ASSIGN_OR_RETURN(const uint32_t rule, AddAutomaton(automaton));
  rules->push_back(rule);
  return Ok();
}

// Recurses as deep as the document is nested: kSchemaDepthMax.
Result<uint32_t> SchemaCompiler::ListedRule(JsonValue value) {
  if (value.IsObject()) return AddListedObject(value, this);
  if (!value.IsArray()) {
    const ValuePlace outside = std::exchange(place_, ValuePlace::kNested);
    Rules rules;
    const Status status = AddListed({&value, 1}, &rules);
    place_ = outside;
    RETURN_IF_ERROR(status);
    // None where the text cannot be written here.
    return rules.empty() ? AddRule(Automaton{{AutomatonState{}}}) : rules.front();
  }
  Array array{.blanks = blanks_};
  for (const JsonValue element : value) {
    ASSIGN_OR_RETURN(const uint32_t rule, ListedRule(element));
    array.prefix.push_back(rule);
  }
  array.min = array.max = static_cast<uint32_t>(array.prefix.size());
  return AddRule(std::move(array));
}

Status SchemaCompiler::AddTypes(const SchemaFacts& facts, Rules* rules) {
  std::vector<std::string> words;
  const auto add = [&](uint8_t type, std::string_view word) {
    if ((facts.types & type) == 0) return;
    for (std::string& each : Words(word)) words.push_back(std::move(each));
  };
  add(kNullType, "null");
  add(kBooleanType, "true");
  add(kBooleanType, "false");
  RETURN_IF_ERROR(AddTexts(words, rules));
  if (facts.types & kNumberType) RETURN_IF_ERROR(AddNumber(facts, rules));
  if (facts.types & kStringType) RETURN_IF_ERROR(AddString(facts, rules));
  if (facts.types & kArrayType) RETURN_IF_ERROR(AddArray(facts, rules));
  if (facts.types & kObjectType) {
    ASSIGN_OR_RETURN(const uint32_t rule, AddObject(facts, this));
    rules->push_back(rule);
  }
  return Ok();
}

Status SchemaCompiler::AddNumber(const SchemaFacts& facts, Rules* rules) {
  if (facts.range.IsOpen()) {
    const bool whole = facts.range.whole;
    ASSIGN_OR_RETURN(const uint32_t rule, Shared(whole ? "integer" : "number", [&] {
                       return OpenNumber({.whole = whole}, &fuel());
                     }));
    rules->push_back(rule);
    return Ok();
  }
  ASSIGN_OR_RETURN(const Automaton automaton, NumberAutomaton(facts.range, &fuel()));
  ASSIGN_OR_RETURN(const uint32_t rule, AddAutomaton(automaton));
  rules->push_back(rule);
  return Ok();
}

Status SchemaCompiler::AddString(const SchemaFacts& facts, Rules* rules) {
  if (facts.length.min > facts.length.max) return Ok();
  ASSIGN_OR_RETURN(const TextStyle style, StyleOfTexts());
  const auto make = [&] { return TextRule(facts, style, &fuel()); };
  uint32_t number = 0;
  if (!facts.BindsStrings()) {
    ASSIGN_OR_RETURN(number, Shared(style.lacks_texts ? "text but null"
                                    : is_text_place() ? "text"
                                                      : "string",
                                    make));
  } else {
    ASSIGN_OR_RETURN(Rule rule, make());
    ASSIGN_OR_RETURN(number, AddRule(std::move(rule)));
  }
  if (QuotesByMarks()) {
    ASSIGN_OR_RETURN(number, Quoted(number));
  }
  rules->push_back(number);
  return Ok();
}

Status SchemaCompiler::AddArray(const SchemaFacts& facts, Rules* rules) {
  if (facts.items.min > facts.items.max) return Ok();
  struct Source {
    std::vector<JsonValue> prefix;
    std::optional<JsonValue> rest;
  };
  std::vector<Source> sources;
  size_t length = 0;
  for (const JsonValue schema : facts.arrays) {
    Source source{{}, reader_.document().Member(schema, "items")};
    if (const auto prefix = reader_.document().Member(schema, "prefixItems"); prefix.has_value())
      source.prefix = Inside(*prefix);
    length = std::max(length, source.prefix.size());
    sources.push_back(std::move(source));
  }
  const auto element = [&](size_t index) {
    std::vector<JsonValue> schemas;
    for (const Source& source : sources) {
      if (index < source.prefix.size())
        schemas.push_back(source.prefix[index]);
      else if (source.rest.has_value())
        schemas.push_back(*source.rest);
    }
    return RuleOf(std::move(schemas));
  };
  Array array{.min = Bound(facts.items.min), .max = Bound(facts.items.max), .blanks = blanks_};
  if (!fuel().Spend(static_cast<int64_t>(length * sources.size()))) return fuel().Error();
  for (size_t i = 0; i < length; ++i) array.prefix.push_back(element(i));
  array.rest = element(length);
  ASSIGN_OR_RETURN(const uint32_t rule, AddRule(std::move(array)));
  rules->push_back(rule);
  return Ok();
}

}  // namespace skald::grammar
