#include "chat/evaluator.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "chat/python_format.h"

namespace skald::chat {

namespace {

Status ErrorAt(int line, Status status) {
  return std::move(status).WithContext("chat template, line " + std::to_string(line));
}

Status ErrorAt(int line, std::string message) {
  return ErrorAt(line, Status(ErrorCode::kInvalidArgument, std::move(message)));
}

}  // namespace

size_t Scope::IndexOf(SymbolId symbol) const {
  if (variables_.size() >= kIndexFrom) {
    const auto found = index_.find(symbol);
    return found == index_.end() ? kNone : found->second;
  }
  for (size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].first == symbol) return i;
  return kNone;
}

const Value* Scope::Find(SymbolId symbol) const {
  size_t scopes = 0;
  const Value* found = nullptr;
  for (const Scope* scope = this; scope != nullptr && found == nullptr; scope = scope->outer_) {
    const size_t at = scope->IndexOf(symbol);
    if (at != kNone) found = &scope->variables_[at].second;
    ++scopes;
  }
  budget_.Spend(static_cast<int64_t>(scopes / kScopesPerStep));
  return found;
}

void Scope::Set(SymbolId symbol, const Value& value) {
  const size_t at = IndexOf(symbol);
  if (at != kNone) {
    variables_[at].second = value;
    return;
  }
  // In a vector that may have room for twice as many, and in the index.
  constexpr int64_t kVariableBytes = 2 * sizeof(std::pair<SymbolId, Value>);
  constexpr int64_t kIndexBytes = 80;
  const bool indexed = variables_.size() + 1 >= kIndexFrom;
  if (!Hold(kVariableBytes + (indexed ? kIndexBytes : 0))) return;
  variables_.emplace_back(symbol, value);
  const size_t first = variables_.size() == kIndexFrom ? 0 : variables_.size() - 1;
  for (size_t i = first; indexed && i < variables_.size(); ++i)
    index_.emplace(variables_[i].first, i);
}

bool Scope::Hold(int64_t bytes) {
  if (!budget_.Hold(bytes)) return false;
  held_ += bytes;
  return true;
}

Result<Text> Evaluator::Run(const std::vector<std::pair<SymbolId, Value>>& variables) {
  TextBuilder output(runtime_.budget());
  output_ = &output;
  ScopeFrame frame(scopes_, runtime_.budget(), nullptr);
  (*frame).Keep();
  for (const auto& [symbol, value] : variables) (*frame).Set(symbol, value);
  // Assignments of the template go to the same scope, as in Jinja.
  ASSIGN_OR_RETURN(const Flow flow, Execute(tree_.body, *frame));
  CHECK(flow == Flow::kNext);
  RETURN_IF_ERROR(runtime_.budget().status());
  return output.Take();
}

Result<Evaluator::Flow> Evaluator::Execute(const Body& body, Scope& scope) {
  const Level level(&depth_);
  for (const Statement& statement : body) {
    if (depth_ > kMaxRunDepth) {
      return Status(ErrorCode::kResourceExhausted,
                    "chat template, line " + std::to_string(statement.line) +
                        ": macros are nested too deeply; expected at most " +
                        std::to_string(kMaxRunDepth) + " levels");
    }
    if (!runtime_.budget().Spend(1)) return runtime_.budget().status();
    ASSIGN_OR_RETURN(const Flow flow, Execute(statement, scope));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Execute(const Statement& statement, Scope& scope) {
  switch (statement.kind) {
    case StatementKind::kText: output_->Add(statement.text); break;
    case StatementKind::kPrint: {
      ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.value, scope));
      output_->Add(ToText(runtime_.budget(), value));
      break;
    }
    case StatementKind::kSet:
    case StatementKind::kSetBlock:
    case StatementKind::kFilterBlock: return ExecuteSet(statement, scope);
    case StatementKind::kSetAttribute:
      RETURN_IF_ERROR(ExecuteSetAttribute(statement, scope));
      break;
    case StatementKind::kIf: return ExecuteIf(statement, scope);
    case StatementKind::kFor: return ExecuteFor(statement, scope);
    case StatementKind::kMacro:
      scope.Keep();
      scope.Set(statement.targets[0].symbol,
                runtime_.heap.NewCallable({.macro = statement.macro.get(), .scope = &scope}));
      break;
    case StatementKind::kGeneration: {
      ScopeFrame inner(scopes_, runtime_.budget(), &scope);
      ASSIGN_OR_RETURN(const Captured captured, Capture(statement.body, *inner));
      output_->Add(captured.text);
      break;
    }
    case StatementKind::kBreak: return Flow::kBreak;
    case StatementKind::kContinue: return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::ExecuteIf(const Statement& statement, Scope& scope) {
  for (const Branch& branch : statement.branches) {
    ASSIGN_OR_RETURN(const Value condition, Evaluate(*branch.condition, scope));
    if (IsTrue(condition)) return Execute(branch.body, scope);
  }
  return Execute(statement.else_body, scope);
}

// What the loop walks over: the collection itself, or, filtered by the loop's condition, a new one.
Result<const Sequence*> Evaluator::LoopItems(const Statement& statement, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.value, scope));
  auto* const* sequence = std::get_if<Sequence*>(&value);
  if (sequence != nullptr && statement.condition == nullptr &&
      (*sequence)->kind != SequenceKind::kGenerator)
    return *sequence;
  Result<Counted<Value>> items = Iterate(runtime_, value);
  if (!items.ok()) return ErrorAt(statement.line, std::move(items).status());
  Sequence* kept = runtime_.heap.NewSequence();
  for (const Value& item : *items) {
    if (statement.condition != nullptr) {
      ScopeFrame inner(scopes_, runtime_.budget(), &scope);
      RETURN_IF_ERROR(Assign(statement, item, *inner));
      ASSIGN_OR_RETURN(const Value condition, Evaluate(*statement.condition, *inner));
      if (!IsTrue(condition)) continue;
    }
    runtime_.heap.Append(*kept, item);
  }
  return kept;
}

Result<Evaluator::Flow> Evaluator::ExecuteFor(const Statement& statement, Scope& scope) {
  ASSIGN_OR_RETURN(const Sequence* items, LoopItems(statement, scope));
  bool any_to_its_end = false;
  LoopState* loop = runtime_.heap.NewLoop({.items = items});
  // The body may append to the collection: the end is looked up again each time.
  for (; loop->index < items->items.size(); ++loop->index) {
    ScopeFrame inner(scopes_, runtime_.budget(), &scope);
    (*inner).Set(loop_symbol_, loop);
    RETURN_IF_ERROR(Assign(statement, items->items[loop->index], *inner));
    ASSIGN_OR_RETURN(const Flow flow, Execute(statement.body, *inner));
    if (!runtime_.budget().Spend(1)) return runtime_.budget().status();
    if (flow == Flow::kBreak) break;
    any_to_its_end |= flow == Flow::kNext;
  }
  if (any_to_its_end) return Flow::kNext;
  // Not only of an empty loop: Jinja notes at the end of the body that there was an item.
  ScopeFrame inner(scopes_, runtime_.budget(), &scope);
  return Execute(statement.else_body, *inner);  // a break there is of the loop around
}

Status Evaluator::Assign(const Statement& statement, const Value& value, Scope& scope) {
  if (!statement.unpacks) {
    scope.Set(statement.targets[0].symbol, value);
    return Ok();
  }
  Result<Counted<Value>> parts = Iterate(runtime_, value);
  if (!parts.ok()) return ErrorAt(statement.line, std::move(parts).status());
  if (parts->size() != statement.targets.size()) {
    return ErrorAt(statement.line, "expected " + std::to_string(statement.targets.size()) +
                                       " values to unpack, found " + std::to_string(parts->size()));
  }
  for (size_t i = 0; i < parts->size(); ++i) scope.Set(statement.targets[i].symbol, (*parts)[i]);
  return Ok();
}

// What `body` prints.
Result<Evaluator::Captured> Evaluator::Capture(const Body& body, Scope& scope) {
  TextBuilder captured(runtime_.budget());
  TextBuilder* const outer = std::exchange(output_, &captured);
  Result<Flow> flow = Execute(body, scope);
  output_ = outer;
  if (!flow.ok()) return std::move(flow).status();
  return Captured{*flow, captured.Take()};
}

// `filter` is a chain of kFilter nodes whose innermost has no input: it gets `input`.
Result<Value> Evaluator::ApplyFilters(const Expression& filter, const Value& input, Scope& scope) {
  block_input_ = input;
  return Evaluate(filter, scope);
}

Result<Evaluator::Flow> Evaluator::ExecuteSet(const Statement& statement, Scope& scope) {
  if (statement.kind == StatementKind::kSet) {
    ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.value, scope));
    RETURN_IF_ERROR(Assign(statement, value, scope));
    return Flow::kNext;
  }
  Value value;
  {
    ScopeFrame inner(scopes_, runtime_.budget(), &scope);
    ASSIGN_OR_RETURN(Captured captured, Capture(statement.body, *inner));
    // Who leaves the loop from inside of the block leaves the block, too: nothing comes of it.
    if (captured.flow != Flow::kNext) return captured.flow;
    value = std::move(captured.text);
  }
  if (statement.value != nullptr) {
    ASSIGN_OR_RETURN(value, ApplyFilters(*statement.value, value, scope));
  }
  if (statement.kind == StatementKind::kSetBlock) {
    RETURN_IF_ERROR(Assign(statement, value, scope));
  } else {
    output_->Add(ToText(runtime_.budget(), value));
  }
  return Flow::kNext;
}

Status Evaluator::ExecuteSetAttribute(const Statement& statement, Scope& scope) {
  const Target& target = statement.targets[0];
  const Value* found = scope.Find(target.symbol);
  const Namespace* space = found == nullptr ? nullptr : std::get_if<Namespace>(found);
  if (space == nullptr) {
    return ErrorAt(statement.line,
                   "cannot assign an attribute of '" + target.name +
                       "'; expected a namespace, found " +
                       (found == nullptr ? "nothing" : std::string(TypeName(*found))));
  }
  Dict* attributes = space->attributes;
  ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.value, scope));
  const Text name = MakeText(runtime_.budget(), statement.name, Origin::kTemplate);
  runtime_.heap.Set(*attributes, name, value);
  return Ok();
}

}  // namespace skald::chat
