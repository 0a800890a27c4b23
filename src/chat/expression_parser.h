/// ExpressionParser: the expressions of a template.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/syntax_tree.h"
#include "chat/token_stream.h"
#include "skald/status.h"

namespace skald::chat {

/// The names of a template as numbers.
class SymbolTable {
 public:
  SymbolId Of(const std::string& name);
  void MarkRead(SymbolId symbol) { read_[static_cast<size_t>(symbol)] = true; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<bool>& read() const { return read_; }

 private:
  std::map<std::string, SymbolId, std::less<>> numbers_;
  std::vector<std::string> names_;
  std::vector<bool> read_;
};

/// Whether a tuple may hold "a if b else c"; `for x in a if b` means something else by it.
enum class Conditionals : uint8_t { kAllowed, kNot };

/// Whether unknown filters and tests are errors now, or when they are reached.
enum class Unknown : uint8_t { kRefuse, kDefer };

/// Reads expressions from `stream`, one method a level of Jinja's grammar. Recursion is bounded by
/// kMaxTreeDepth.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& stream, SymbolTable& symbols)
      : stream_(stream), symbols_(symbols) {}

  /// An expression, or without brackets a tuple of several.
  Result<ExpressionPtr> ParseTuple(Conditionals conditionals = Conditionals::kAllowed);
  Result<ExpressionPtr> Parse(Conditionals conditionals = Conditionals::kAllowed);
  /// "| trim | lower": filters over `input`, which is null for the filters of a block. The first
  /// "|" has been read if `first_bar` is.
  Result<ExpressionPtr> ParseFilter(ExpressionPtr input);

  /// What Unknown::kDefer is for: the parser is inside of an `if`.
  void set_unknown(Unknown unknown) { unknown_ = unknown; }
  Unknown unknown() const { return unknown_; }

 private:
  using Children = std::vector<ExpressionPtr>;

  Result<ExpressionPtr> ParseOr();
  Result<ExpressionPtr> ParseAnd();
  Result<ExpressionPtr> ParseNot();
  Result<ExpressionPtr> ParseCompare();
  Result<ExpressionPtr> ParseBinary(int level);
  Result<ExpressionPtr> ParseConcat();
  Result<ExpressionPtr> ParseUnary();
  // An operand with its signs, and what follows it but filters.
  Result<ExpressionPtr> ParseSigned();
  Result<ExpressionPtr> ParsePrimary();
  Result<ExpressionPtr> ParseNumber();
  Result<ExpressionPtr> ParseBracketed();
  Result<ExpressionPtr> ParseListOrDict(ExpressionKind kind, std::string_view closing);
  Result<ExpressionPtr> ParsePostfix(ExpressionPtr node);
  Result<ExpressionPtr> ParseFilters(ExpressionPtr node);
  Result<ExpressionPtr> ParseSubscript(ExpressionPtr node);
  Result<ExpressionPtr> ParseSlice(ExpressionPtr node, ExpressionPtr first, int line);
  Result<ExpressionPtr> ParseTest(ExpressionPtr node);
  Status ParseArguments(Expression* call);
  bool TupleEnds() const;
  Result<ExpressionPtr> Checked(ExpressionPtr node) const;

  TokenStream& stream_;
  SymbolTable& symbols_;
  Unknown unknown_ = Unknown::kRefuse;
  int nesting_ = 0;
};

}  // namespace skald::chat
