/// Evaluator: runs a syntax tree on variables.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "chat/builtins.h"
#include "chat/syntax_tree.h"
#include "chat/value.h"
#include "skald/status.h"

namespace skald::chat {

/// Variables, and the scope around them. Found from the inside out; assigned in the innermost. Its
/// memory counts for as long as it lives.
class Scope {
 public:
  Scope(Budget& budget, const Scope* outer) : budget_(budget), outer_(outer) { Hold(kBytes); }
  ~Scope() { budget_.Return(held_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Null if there is none. O(log n) of the variables of each scope around.
  const Value* Find(SymbolId symbol) const;
  /// Nothing is added beyond the budget.
  void Set(SymbolId symbol, const Value& value);
  /// A macro was defined here: it may be called after the scope has ended.
  void Keep() { kept_ = true; }
  bool kept() const { return kept_; }

 private:
  static constexpr int64_t kBytes = 160;   // of a scope, with its first variables
  static constexpr size_t kIndexFrom = 8;  // with fewer variables all are looked through
  static constexpr size_t kScopesPerStep = 8;
  static constexpr size_t kNone = SIZE_MAX;

  size_t IndexOf(SymbolId symbol) const;
  bool Hold(int64_t bytes);

  Budget& budget_;
  const Scope* outer_;
  std::vector<std::pair<SymbolId, Value>> variables_;
  std::map<SymbolId, size_t> index_;  // places in variables_, from kIndexFrom of them on
  int64_t held_ = 0;
  bool kept_ = false;
};

/// Takes a scope from the stack `scopes` and gives it back at the end, unless it, or one inside of
/// it, is kept.
class ScopeFrame {
 public:
  ScopeFrame(std::deque<Scope>& scopes, Budget& budget, const Scope* outer)
      : scopes_(scopes), scope_(&scopes.emplace_back(budget, outer)) {}
  ~ScopeFrame() {
    if (!scope_->kept() && &scopes_.back() == scope_) scopes_.pop_back();
  }
  ScopeFrame(const ScopeFrame&) = delete;
  ScopeFrame& operator=(const ScopeFrame&) = delete;

  Scope& operator*() { return *scope_; }

 private:
  std::deque<Scope>& scopes_;
  Scope* scope_;
};

/// One rendering. The tree, the runtime and the scope outlive it.
class Evaluator {
 public:
  /// `loop_symbol` is that of the name "loop".
  Evaluator(const SyntaxTree& tree, Runtime& runtime, SymbolId loop_symbol)
      : tree_(tree), runtime_(runtime), loop_symbol_(loop_symbol) {}

  /// Runs the template with the variables of `scope` and returns what it printed. Errors: those of
  /// ChatTemplate::Render.
  /// `variables` are by the names of the tree's symbols; others may follow.
  Result<Text> Run(const std::vector<std::pair<SymbolId, Value>>& variables);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  // Statements (evaluator.cc). Output goes to *output_.
  Result<Flow> Execute(const Body& body, Scope& scope);
  Result<Flow> Execute(const Statement& statement, Scope& scope);
  Result<Flow> ExecuteIf(const Statement& statement, Scope& scope);
  Result<Flow> ExecuteFor(const Statement& statement, Scope& scope);
  Result<const Sequence*> LoopItems(const Statement& statement, Scope& scope);
  Result<Flow> ExecuteSet(const Statement& statement, Scope& scope);
  Status ExecuteSetAttribute(const Statement& statement, Scope& scope);
  Status Assign(const Statement& statement, const Value& value, Scope& scope);
  struct Captured {
    Flow flow;
    Text text;
  };
  Result<Captured> Capture(const Body& body, Scope& scope);
  Result<Value> ApplyFilters(const Expression& filter, const Value& input, Scope& scope);

  // Expressions (evaluate_expression.cc).
  Result<Value> Evaluate(const Expression& node, Scope& scope);
  Result<Value> EvaluateNode(const Expression& node, Scope& scope);
  Result<Value> EvaluateName(const Expression& node, Scope& scope);
  Result<Value> EvaluateCollection(const Expression& node, Scope& scope);
  Result<Value> EvaluateDict(const Expression& node, Scope& scope);
  Result<Value> EvaluateLogic(const Expression& node, Scope& scope);
  Result<Value> EvaluateCompare(const Expression& node, Scope& scope);
  Result<Value> EvaluateConcat(const Expression& node, Scope& scope);
  Result<Value> EvaluateSlice(const Expression& node, Scope& scope);
  Result<Value> EvaluateAttribute(const Expression& node, Scope& scope);
  Result<Value> EvaluateCall(const Expression& node, Scope& scope);
  Result<Value> EvaluateFilter(const Expression& node, Scope& scope);
  Result<Value> EvaluateTest(const Expression& node, Scope& scope);
  Result<Arguments> EvaluateArguments(const Expression& node, Scope& scope);
  Result<Value> CallValue(const Expression& node, const Value& callee, const Arguments& arguments);
  Result<Value> CallMacro(const Callable& callable, const Arguments& arguments);

  const SyntaxTree& tree_;
  Runtime& runtime_;
  const SymbolId loop_symbol_;
  Value block_input_ = Undefined{};  // what the innermost filter of a block is applied to
  TextBuilder* output_ = nullptr;
  std::deque<Scope> scopes_;  // a stack, but for those that are kept
  int depth_ = 0;
};

}  // namespace skald::chat
