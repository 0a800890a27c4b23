#include "grammar/disjoint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "grammar/schema_values.h"

namespace skald::grammar {

namespace {

using Texts = std::set<std::string>;

// What is known of a branch.
struct Branch {
  uint8_t types = kAllTypes;
  std::optional<Texts> values;
  std::map<std::string_view, Texts> tags;  // listed values of required properties
};

void Intersect(const Texts& texts, std::optional<Texts>* all) {
  if (!all->has_value()) {
    *all = texts;
    return;
  }
  std::erase_if(**all, [&](const std::string& text) { return !texts.contains(text); });
}

// The values that the keywords `enum` and `const` list, all of them.
std::optional<Texts> Listed(const std::vector<JsonValue>& keywords) {
  std::optional<Texts> all;
  for (const JsonValue keyword : keywords) {
    Texts texts;
    if (keyword.name() == "const") {
      texts.insert(CanonicalText(keyword));
    } else {
      for (const JsonValue value : keyword) texts.insert(CanonicalText(value));
    }
    Intersect(texts, &all);
  }
  return all;
}

bool HaveNothingInCommon(const Texts& a, const Texts& b) {
  return std::none_of(a.begin(), a.end(),
                      [&](const std::string& text) { return b.contains(text); });
}

Result<Branch> Describe(const SchemaFacts& facts, SchemaReader* reader) {
  Branch branch{facts.types, Listed(facts.values), {}};
  if (facts.never) branch.types = 0;
  if (branch.values.has_value() && branch.types == kAllTypes) {
    branch.types = 0;
    for (const JsonValue keyword : facts.values) {
      if (keyword.name() == "const") branch.types |= TypeOf(keyword);
      if (keyword.name() == "enum")
        for (const JsonValue value : keyword) branch.types |= TypeOf(value);
    }
  }
  for (const JsonValue name : facts.required) {
    SchemaFacts property;
    for (const JsonValue object : facts.objects) {
      const std::optional<JsonValue> properties = reader->document().Member(object, "properties");
      if (!properties.has_value()) continue;
      const std::optional<JsonValue> schema =
          reader->document().Member(*properties, *name.AsString());
      if (schema.has_value()) RETURN_IF_ERROR(reader->Merge(*schema, &property));
    }
    std::optional<Texts> texts = Listed(property.values);
    if (texts.has_value()) branch.tags.emplace(*name.AsString(), *std::move(texts));
  }
  return branch;
}

bool ExcludeOneAnother(const Branch& a, const Branch& b) {
  const uint8_t common = a.types & b.types;
  if (common == 0) return true;
  if (a.values.has_value() && b.values.has_value())
    return HaveNothingInCommon(*a.values, *b.values);
  if (common != kObjectType) return false;
  return std::any_of(a.tags.begin(), a.tags.end(), [&](const auto& tag) {
    const auto other = b.tags.find(tag.first);
    return other != b.tags.end() && HaveNothingInCommon(tag.second, other->second);
  });
}

}  // namespace

Result<bool> AreDisjoint(const std::vector<SchemaFacts>& branches, SchemaReader* reader) {
  std::vector<Branch> known;
  for (const SchemaFacts& facts : branches) {
    ASSIGN_OR_RETURN(Branch branch, Describe(facts, reader));
    known.push_back(std::move(branch));
  }
  for (size_t i = 0; i < known.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!reader->fuel().Spend(10)) return reader->fuel().Error();
      if (!ExcludeOneAnother(known[i], known[j])) return false;
    }
  }
  return true;
}

}  // namespace skald::grammar
