/// Rules of texts, in the spelling that their place asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/schema_facts.h"
#include "grammar/string_rule.h"
#include "skald/status.h"

namespace skald::grammar {

/// How texts are spelled at a place, and which can stand there.
struct TextStyle {
  TextSpelling spelling = TextSpelling::kJson;
  /// All of them, as they are spelled; null: any. Deterministic.
  const Automaton* within = nullptr;
  /// Whether `within` lacks whole texts, and not only what they may have in them: then a text that
  /// has come to its greatest length may still be none.
  bool lacks_texts = false;
};

/// Texts that `facts` take: by length, patterns and formats, not by value. facts.length.min is at
/// most its max. Errors: as PatternText and LengthText.
Result<Rule> TextRule(const SchemaFacts& facts, const TextStyle& style, Fuel* fuel);

/// Texts with `pattern` (or the format of that name) in them; deterministic. Errors: those of
/// RegexNfa.
Result<Automaton> PatternAutomaton(JsonValue keyword, TextSpelling spelling, Fuel* fuel);

/// `text` as it is spelled.
std::string SpelledText(std::string_view text, TextSpelling spelling);

/// Whether `style` has `text`, which is spelled.
bool CanStand(std::string_view text, const TextStyle& style);

/// All bytes, but for "</".
Automaton WithoutClosers();
/// All texts but null and None, with white space around them or not: who reads a text that is
/// written without quotes takes these for null.
Result<Automaton> WithoutNull(Fuel* fuel);

}  // namespace skald::grammar
