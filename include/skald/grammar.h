/// Grammar: which texts a model may write, decided byte by byte.
///
///     const Result<Grammar> grammar = Grammar::FromRegex("(yes|no)!?");
///     const GrammarCheck check = CheckText(*grammar, "ye");
///     // check.verdict == GrammarVerdict::kIncomplete: it is the beginning of a text
///
/// A grammar is compiled once, immutable, and shared by any number of threads. Every beginning that
/// it lets through is the beginning of a text that it accepts. docs/grammar.md says what is taken
/// and what is refused, and the bounds.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "skald/status.h"

namespace skald {

namespace grammar {
struct Form;  // src/grammar/form.h
}

/// A compiled grammar. A handle: copies share what was compiled.
class Grammar {
 public:
  /// Texts that match `regex` as a whole: ECMA-262 without what is not regular. Errors:
  /// kUnsupported and kInvalidArgument with the construct and its place; kInvalidArgument beyond a
  /// bound, with the bound.
  static Result<Grammar> FromRegex(std::string_view regex);

  /// Texts of the rule `root` of a grammar as llama.cpp writes them. Errors: as FromRegex;
  /// kInvalidArgument if no text can satisfy it.
  static Result<Grammar> FromGbnf(std::string_view gbnf);

  const grammar::Form& form() const { return *form_; }

 private:
  explicit Grammar(grammar::Form form);

  std::shared_ptr<const grammar::Form> form_;
};

enum class GrammarVerdict : uint8_t {
  kAccepted,    ///< a text of the grammar
  kIncomplete,  ///< no text of the grammar, but the beginning of one
  kDead,        ///< no beginning of a text
  kTooComplex,  ///< so ambiguous that a bound was met (docs/grammar.md)
};

/// What became of a text.
struct GrammarCheck {
  GrammarVerdict verdict;
  /// The longest beginning of it that can be completed; of kTooComplex what was read.
  size_t good_bytes;
  /// The bytes that may stand behind these.
  std::bitset<256> next;
  /// Whether these are a text of the grammar.
  bool may_end;
};

/// Linear in the text, for grammars that are not ambiguous.
GrammarCheck CheckText(const Grammar& grammar, std::string_view text);

}  // namespace skald
