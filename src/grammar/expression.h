/// Expression: what regular expressions and the right-hand sides of rules are parsed to.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "grammar/char_set.h"
#include "grammar/form.h"

namespace skald::grammar {

enum class ExpressionKind : uint8_t {
  kText,      ///< these characters
  kSet,       ///< one character of a set
  kSequence,  ///< the parts, one behind the other; no parts: the empty text
  kChoice,    ///< one of the parts
  kRepeat,    ///< the one part, `min` to `max` times
  kBegin,     ///< nothing, and only where the text begins
  kEnd,       ///< nothing, and only where the text ends
  kRule,      ///< what another rule says
  kToken,     ///< a control token
};

/// A tree, at most kNestingMax groups deep: functions over it may recurse.
struct Expression {
  ExpressionKind kind = ExpressionKind::kSequence;
  std::u32string text = {};
  CharSet set = {};
  std::vector<Expression> parts = {};
  uint32_t min = 0;
  uint32_t max = 0;
  uint32_t rule = 0;  ///< kToken: the token
};

inline Expression TextExpression(std::u32string text) {
  return {.kind = ExpressionKind::kText, .text = std::move(text)};
}
inline Expression SetExpression(CharSet set) {
  return {.kind = ExpressionKind::kSet, .set = std::move(set)};
}
inline Expression RuleExpression(uint32_t rule) {
  return {.kind = ExpressionKind::kRule, .rule = rule};
}
inline Expression TokenExpression(TokenId token) {
  return {.kind = ExpressionKind::kToken, .rule = static_cast<uint32_t>(token)};
}
inline Expression Sequence(std::vector<Expression> parts) {
  return {.kind = ExpressionKind::kSequence, .parts = std::move(parts)};
}
inline Expression Choice(std::vector<Expression> parts) {
  return {.kind = ExpressionKind::kChoice, .parts = std::move(parts)};
}
inline Expression Repeat(Expression part, uint32_t min, uint32_t max) {
  Expression repeat{.kind = ExpressionKind::kRepeat, .min = min, .max = max};
  repeat.parts.push_back(std::move(part));
  return repeat;
}

}  // namespace skald::grammar
