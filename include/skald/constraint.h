/// Vocabulary, Constraint: what a grammar lets a model write, token by token.
///
///     const Vocabulary vocabulary = Vocabulary::FromTokenizer(model.tokenizer());
///     const Result<Grammar> grammar = Grammar::FromJsonSchema(schema);
///     const Result<Constraint> constraint = Constraint::Create(*grammar, vocabulary);
///
/// A token may stand where its bytes may: all of them, behind the bytes of the tokens before. What
/// has no bytes of its own (control tokens, those that end a text) may stand where the grammar
/// names it, and nowhere else: the letters of its name are another thing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "skald/grammar.h"
#include "skald/status.h"
#include "skald/stop_check.h"
#include "skald/version.h"

namespace skald {

class Tokenizer;

namespace grammar {
class TokenTable;       // src/grammar/token_table.h
struct ConstraintData;  // src/grammar/constraint_data.h
}  // namespace grammar

/// The tokens of a model by their bytes, made ready for grammars. A handle: copies share it, and
/// any number of threads may use it. Made once for a model.
class Vocabulary {
 public:
  /// All tokens but those without text: control, unknown and unused ones, and those that end a
  /// generation. Takes O(n log n) in the bytes of all tokens: some 50 ms for 128 k tokens, and 12
  /// bytes of memory for each beginning of a token (3.2 MiB). `tokenizer` may be freed afterwards.
  static Vocabulary FromTokenizer(const Tokenizer& tokenizer);

  /// The bytes of token 0, of token 1, and so on; none: the token has no text.
  static Vocabulary FromBytes(std::span<const std::string_view> token_bytes);

  /// Number of tokens, those without text counted.
  int64_t size() const;

  const grammar::TokenTable& table() const { return *table_; }

 private:
  explicit Vocabulary(std::shared_ptr<const grammar::TokenTable> table);

  std::shared_ptr<const grammar::TokenTable> table_;
};

/// A grammar over the tokens of one vocabulary. A handle, as Grammar is.
class Constraint {
 public:
  /// Errors: kInvalidArgument if a byte that the grammar allows is no token: a text could then come
  /// to a place where no token leads on; if a token that the grammar names has text, or is none.
  /// kCancelled if `stop` says so, which is asked while the first mask is made: mostly some
  /// microseconds, up to a tenth of a second.
  static Result<Constraint> Create(const Grammar& grammar, const Vocabulary& vocabulary,
                                   StopCheck stop = {});

  const Grammar& grammar() const;
  const Vocabulary& vocabulary() const;

  /// What the grammar and the masks made for it so far take, in about. O(1).
  int64_t memory_bytes() const;

  const std::shared_ptr<const grammar::ConstraintData>& data() const { return data_; }

 private:
  explicit Constraint(std::shared_ptr<const grammar::ConstraintData> data);

  std::shared_ptr<const grammar::ConstraintData> data_;
};

}  // namespace skald
