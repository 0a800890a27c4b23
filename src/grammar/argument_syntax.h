/// ArgumentSyntax: how the arguments of a call are written where they are not one object of JSON.
///
/// Two shapes. Arguments may stand one by one between markers, or as `name=value`: then only the
/// values are nested texts, and those that are texts may stand there as they are. Or the whole is
/// nested, in a syntax of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "grammar/expression.h"

namespace skald::grammar {

/// How a value is written.
enum class ValueForm : uint8_t {
  kJson,
  kJsonInside,  ///< JSON in which no "</" stands: it begins what closes the value
  kPython,      ///< True, False and None; texts in the one spelling that JSON shares with Python
  kMarked,      ///< texts between quotes that are markers, keys without quotes
};

/// Whether the value of an argument is a text as it stands, without quotes.
enum class BareText : uint8_t {
  kNever,
  kAlways,
  kUnlessNull,  ///< null is null, in any case; all others are texts
  kByKey,       ///< text_key_end in front of it says so
};

/// Expressions are without rules.
struct ArgumentSyntax {
  ValueForm values = ValueForm::kJson;
  /// Around texts, if they are kMarked.
  Expression quote = Sequence({});
  /// In front of a key: of the first, and of all others.
  Expression before_first = Sequence({});
  Expression before_next = Sequence({});
  /// Between a key and its value.
  Expression key_end = Sequence({});
  Expression text_key_end = Sequence({});  ///< kByKey
  Expression value_end = Sequence({});
  /// What no bare text has in it, nor one between quotes that are markers: what would end it.
  Expression text_stop = Choice({});
  /// Arguments by their names.
  std::map<std::string, BareText, std::less<>> texts = {};
  BareText other_texts = BareText::kNever;
  /// Whether a declared name can be written as a key. One that cannot is none that may come.
  std::function<bool(std::string_view name)> can_be_key = nullptr;

  /// Whether nested objects are written as the arguments are.
  bool is_nested() const { return values == ValueForm::kMarked; }
  BareText TextOf(std::string_view name) const {
    const auto found = texts.find(name);
    return found == texts.end() ? other_texts : found->second;
  }
};

}  // namespace skald::grammar
