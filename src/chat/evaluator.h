/// Evaluator: runs a syntax tree on variables.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "chat/builtins.h"
#include "chat/syntax_tree.h"
#include "chat/value.h"
#include "skald/status.h"

namespace skald::chat {

/// Variables, and the scope around them. Found from the inside out; assigned in the innermost.
class Scope {
 public:
  explicit Scope(const Scope* outer) : outer_(outer) {}

  const Value* Find(Symbol symbol) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
      for (const auto& [known, value] : scope->variables_)
        if (known == symbol) return &value;
    }
    return nullptr;
  }
  /// A macro was defined here: it may be called after the scope has ended.
  void Keep() { kept_ = true; }
  bool kept() const { return kept_; }
  void Set(Symbol symbol, const Value& value) {
    for (auto& [known, slot] : variables_) {
      if (known != symbol) continue;
      slot = value;
      return;
    }
    variables_.emplace_back(symbol, value);
  }

 private:
  const Scope* outer_;
  std::vector<std::pair<Symbol, Value>> variables_;
  bool kept_ = false;
};

/// Takes a scope from the stack `scopes` and gives it back at the end, unless it, or one inside of
/// it, is kept.
class ScopeFrame {
 public:
  ScopeFrame(std::deque<Scope>& scopes, const Scope* outer)
      : scopes_(scopes), scope_(&scopes.emplace_back(outer)) {}
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
  Evaluator(const SyntaxTree& tree, Runtime& runtime, Symbol loop_symbol)
      : tree_(tree), runtime_(runtime), loop_symbol_(loop_symbol) {}

  /// Runs the template with the variables of `scope` and returns what it printed. Errors: those of
  /// ChatTemplate::Render.
  /// `variables` are by the names of the tree's symbols; others may follow.
  Result<Text> Run(const std::vector<std::pair<Symbol, Value>>& variables);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  // Statements (evaluator.cc). Output goes to *output_.
  Result<Flow> Execute(const Body& body, Scope& scope);
  Result<Flow> Execute(const Statement& statement, Scope& scope);
  Result<Flow> ExecuteIf(const Statement& statement, Scope& scope);
  Status ExecuteFor(const Statement& statement, Scope& scope);
  Result<const Sequence*> LoopItems(const Statement& statement, Scope& scope);
  Status ExecuteSet(const Statement& statement, Scope& scope);
  Status ExecuteSetAttribute(const Statement& statement, Scope& scope);
  Status Assign(const Statement& statement, const Value& value, Scope& scope);
  Result<Text> Capture(const Body& body, Scope& scope);
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
  const Symbol loop_symbol_;
  Value block_input_ = Undefined{};  // what the innermost filter of a block is applied to
  TextBuilder* output_ = nullptr;
  std::deque<Scope> scopes_;  // a stack, but for those that are kept
  int depth_ = 0;
  int64_t loop_depth_ = 0;
};

}  // namespace skald::chat
