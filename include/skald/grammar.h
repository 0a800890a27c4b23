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
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"
#include "skald/stop_check.h"
#include "skald/version.h"

namespace skald {

namespace grammar {
struct Form;  // src/grammar/form.h
}

/// What becomes of a keyword that is not enforced.
enum class SchemaMode : uint8_t {
  kStrict,   ///< it is an error
  kRelaxed,  ///< it is left out and named
};

struct SchemaOptions {
  SchemaMode mode = SchemaMode::kStrict;
  /// Whether white space may stand between the tokens of the text: one space, or a newline and at
  /// most 32 spaces or 8 tabs.
  bool any_whitespace = true;
  /// Only objects, whatever else the schema takes: arguments of a call.
  bool only_objects = false;
};

/// What compiling may still cost, for grammars that are made of several: counted down by each. In
/// steps: about 100 of them take a microsecond.
struct CompileBudget {
  int64_t steps = 5'000'000;
  StopCheck stop = {};  ///< kCancelled if it says so
};

/// A compiled grammar. A handle: copies share what was compiled.
class Grammar {
 public:
  /// Texts that match `regex` as a whole: ECMA-262 without what is not regular. Errors:
  /// kUnsupported and kInvalidArgument with the construct and its place; kInvalidArgument beyond a
  /// bound, with the bound.
  static Result<Grammar> FromRegex(std::string_view regex);
  /// The same within `budget`, which it counts down.
  static Result<Grammar> FromRegex(std::string_view regex, CompileBudget* budget);

  /// Texts of the rule `root` of a grammar as llama.cpp writes them. Errors: as FromRegex;
  /// kInvalidArgument if no text can satisfy it.
  static Result<Grammar> FromGbnf(std::string_view gbnf);
  /// The same within `budget`, which it counts down.
  static Result<Grammar> FromGbnf(std::string_view gbnf, CompileBudget* budget);

  /// JSON texts that a JSON Schema (draft 2020-12) takes, in the spelling that docs/grammar.md
  /// describes. Errors: as FromGbnf; kUnsupported for a keyword that is not enforced. Each names
  /// where in the schema: "#/properties/a/not: ...".
  static Result<Grammar> FromJsonSchema(std::string_view schema, const SchemaOptions& options = {});
  /// The same within `budget`, which it counts down.
  static Result<Grammar> FromJsonSchema(std::string_view schema, const SchemaOptions& options,
                                        CompileBudget* budget);

  /// A form that was compiled elsewhere, for the rooms of the library.
  static Grammar FromForm(grammar::Form form, std::vector<std::string> left_out = {});

  /// Of a relaxed schema: the pointers of what was left out.
  const std::vector<std::string>& left_out() const { return left_out_; }

  const grammar::Form& form() const { return *form_; }

 private:
  explicit Grammar(grammar::Form form);

  std::vector<std::string> left_out_;
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
