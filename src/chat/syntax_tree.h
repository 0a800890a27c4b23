/// The syntax tree of a template: what the parser makes and the evaluator walks.
///
/// One struct for all expressions and one for all statements: the table beside each kind says which
/// fields it uses. Built once, never changed; its depth is bounded by kMaxTreeDepth, so recursion
/// over it is, too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chat/value.h"

namespace skald::chat {

struct Expression;
struct Filter;
struct ValueTest;
using ExpressionPtr = std::unique_ptr<Expression>;

/// Numbers of the names of variables, so that scopes compare integers.
using SymbolId = int32_t;

enum class ExpressionKind : uint8_t {
  kConstant,     ///< constant
  kName,         ///< symbol, name
  kList,         ///< children
  kTuple,        ///< children
  kDict,         ///< children: key, value, key, value, ...
  kNegate,       ///< children[0]
  kPlus,         ///< children[0]
  kNot,          ///< children[0]
  kAnd,          ///< children[0], [1]
  kOr,           ///< children[0], [1]
  kBinary,       ///< op; children[0], [1]
  kConcat,       ///< "~": children
  kCompare,      ///< children[0] ops[0] children[1] ops[1] children[2] ...
  kConditional,  ///< children: value, condition, and maybe the other value
  kAttribute,    ///< children[0] . name
  kItem,         ///< children[0] [ children[1] ]
  kSlice,        ///< children[0] [ children[1] : [2] : [3] ]; null where left out
  kCall,         ///< children[0] ( children[1...], names )
  kFilter,       ///< children[0] | filter ( children[1...], names ); children[0] null: of a block
  kTest,         ///< children[0] is test ( children[1...], names )
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};
enum class CompareOp : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Expression {
  ExpressionKind kind;
  int line = 0;
  int depth = 1;  ///< of the tree below, this included
  SymbolId symbol = 0;
  BinaryOp op = BinaryOp::kAdd;
  std::string name;
  Value constant = Undefined{};
  std::vector<ExpressionPtr> children;
  std::vector<CompareOp> ops;
  /// Of calls: the last names.size() children are passed by these names.
  std::vector<std::string> names;
  const Filter* filter = nullptr;  ///< null: there is none of this name
  const ValueTest* test = nullptr;
};

struct Statement;
using Body = std::vector<Statement>;

enum class StatementKind : uint8_t {
  kText,          ///< text
  kPrint,         ///< value
  kSet,           ///< targets (several: unpacked), value
  kSetAttribute,  ///< targets[0] . name, value
  kSetBlock,      ///< targets, body; value: a chain of filters over the body, or null
  kIf,            ///< branches; else_body
  kFor,           ///< targets, value, condition (null: none), body, else_body
  kMacro,         ///< macro
  kFilterBlock,   ///< value: a chain of filters over the body; body
  kGeneration,    ///< body, in a scope of its own
  kBreak,
  kContinue,
};

/// A variable that a statement assigns.
struct Target {
  SymbolId symbol = 0;
  std::string name;
};

struct Branch;

/// A macro: a function written in the template.
struct Macro {
  std::string name;
  std::vector<Target> parameters;
  std::vector<ExpressionPtr> defaults;  ///< of the last parameters
  Body body;
};

struct Statement {
  StatementKind kind;
  int line = 0;
  Text text;
  std::vector<Target> targets;
  bool unpacks = false;  ///< the target is a tuple, of one or more
  std::string name;
  ExpressionPtr value;
  ExpressionPtr condition;
  std::vector<Branch> branches;
  Body body;
  Body else_body;
  std::unique_ptr<Macro> macro;
};

/// A condition of an `if` or `elif`, and what it guards.
struct Branch {
  ExpressionPtr condition;
  Body body;
};

/// A parsed template.
struct SyntaxTree {
  Body body;
  std::vector<std::string> symbols;  ///< names by SymbolId
  std::vector<bool> read;            ///< by SymbolId: some expression reads it
};

}  // namespace skald::chat
