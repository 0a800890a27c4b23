// Expressions: the other half of evaluator.cc.
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "chat/evaluator.h"
#include "chat/operators.h"
#include "chat/python_format.h"

namespace skald::chat {

namespace {

// Puts the line in front of an error of something that knows no line.
Status At(const Expression& node, Status status) {
  return std::move(status).WithContext("chat template, line " + std::to_string(node.line));
}

Status ErrorAt(const Expression& node, std::string message) {
  return At(node, Status(ErrorCode::kInvalidArgument, std::move(message)));
}

}  // namespace

Result<Value> Evaluator::Evaluate(const Expression& node, Scope& scope) {
  const Level level(&depth_);
  if (depth_ > kMaxRunDepth) {
    return At(node, Status(ErrorCode::kResourceExhausted,
                           "macros are nested too deeply; expected at most " +
                               std::to_string(kMaxRunDepth) + " levels"));
  }
  if (!runtime_.budget().Spend(1)) return At(node, runtime_.budget().status());
  Result<Value> value = EvaluateNode(node, scope);
  if (!runtime_.budget().exhausted()) return value;
  // Whatever it says, it was cut short.
  if (!value.ok() && (value.status().code() == ErrorCode::kResourceExhausted ||
                      value.status().code() == ErrorCode::kCancelled))
    return value;
  return At(node, runtime_.budget().status());
}

Result<Value> Evaluator::EvaluateNode(const Expression& node, Scope& scope) {
  switch (node.kind) {
    case ExpressionKind::kConstant: return node.constant;
    case ExpressionKind::kName: return EvaluateName(node, scope);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple: return EvaluateCollection(node, scope);
    case ExpressionKind::kDict: return EvaluateDict(node, scope);
    case ExpressionKind::kNegate:
    case ExpressionKind::kPlus: {
      ASSIGN_OR_RETURN(const Value value, Evaluate(*node.children[0], scope));
      Result<Value> result = node.kind == ExpressionKind::kNegate ? Negate(value) : Plus(value);
      if (!result.ok()) return At(node, std::move(result).status());
      return result;
    }
    case ExpressionKind::kNot:
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
    case ExpressionKind::kConditional: return EvaluateLogic(node, scope);
    case ExpressionKind::kBinary: {
      ASSIGN_OR_RETURN(const Value left, Evaluate(*node.children[0], scope));
      ASSIGN_OR_RETURN(const Value right, Evaluate(*node.children[1], scope));
      Result<Value> result = Apply(runtime_, node.op, left, right);
      if (!result.ok()) return At(node, std::move(result).status());
      return result;
    }
    case ExpressionKind::kConcat: return EvaluateConcat(node, scope);
    case ExpressionKind::kCompare: return EvaluateCompare(node, scope);
    case ExpressionKind::kAttribute: return EvaluateAttribute(node, scope);
    case ExpressionKind::kItem: {
      ASSIGN_OR_RETURN(const Value value, Evaluate(*node.children[0], scope));
      ASSIGN_OR_RETURN(const Value index, Evaluate(*node.children[1], scope));
      Result<Value> item = GetItem(runtime_, value, index);
      if (!item.ok()) return At(node, std::move(item).status());
      return item;
    }
    case ExpressionKind::kSlice: return EvaluateSlice(node, scope);
    case ExpressionKind::kCall: return EvaluateCall(node, scope);
    case ExpressionKind::kFilter: return EvaluateFilter(node, scope);
    case ExpressionKind::kTest: return EvaluateTest(node, scope);
  }
  UNREACHABLE();
}

Result<Value> Evaluator::EvaluateName(const Expression& node, Scope& scope) {
  if (const Value* value = scope.Find(node.symbol)) return *value;
  if (const Function* function = FindGlobal(node.name))
    return Value(runtime_.heap.NewCallable({.function = function}));
  return Value(Undefined{node.name});
}

Result<Value> Evaluator::EvaluateCollection(const Expression& node, Scope& scope) {
  Sequence* sequence = runtime_.heap.NewSequence(
      node.kind == ExpressionKind::kList ? SequenceKind::kList : SequenceKind::kTuple);
  for (const ExpressionPtr& child : node.children) {
    ASSIGN_OR_RETURN(const Value item, Evaluate(*child, scope));
    runtime_.heap.Append(*sequence, item);
  }
  return Value(sequence);
}

Result<Value> Evaluator::EvaluateDict(const Expression& node, Scope& scope) {
  Dict* dict = runtime_.heap.NewDict();
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    ASSIGN_OR_RETURN(const Value key, Evaluate(*node.children[i], scope));
    ASSIGN_OR_RETURN(const Value value, Evaluate(*node.children[i + 1], scope));
    if (!IsKey(key)) {
      return ErrorAt(node, "a " + std::string(TypeName(key)) +
                               " cannot be a key; expected a string or a number");
    }
    runtime_.heap.Set(*dict, key, value);
  }
  return Value(dict);
}

Result<Value> Evaluator::EvaluateLogic(const Expression& node, Scope& scope) {
  if (node.kind == ExpressionKind::kConditional) {
    ASSIGN_OR_RETURN(const Value condition, Evaluate(*node.children[1], scope));
    if (IsTrue(condition)) return Evaluate(*node.children[0], scope);
    if (node.children.size() == 2) return Value(Undefined{"an 'if' without 'else'"});
    return Evaluate(*node.children[2], scope);
  }
  ASSIGN_OR_RETURN(Value left, Evaluate(*node.children[0], scope));
  if (node.kind == ExpressionKind::kNot) return Value(!IsTrue(left));
  if (IsTrue(left) == (node.kind == ExpressionKind::kOr)) return left;
  return Evaluate(*node.children[1], scope);
}

Result<Value> Evaluator::EvaluateCompare(const Expression& node, Scope& scope) {
  ASSIGN_OR_RETURN(Value left, Evaluate(*node.children[0], scope));
  for (size_t i = 0; i < node.ops.size(); ++i) {
    ASSIGN_OR_RETURN(Value right, Evaluate(*node.children[i + 1], scope));
    const Result<bool> holds = Holds(runtime_, node.ops[i], left, right);
    if (!holds.ok()) return At(node, Status(holds.status().code(), holds.status().message()));
    if (!*holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Evaluator::EvaluateConcat(const Expression& node, Scope& scope) {
  TextBuilder builder(runtime_.budget());
  for (const ExpressionPtr& child : node.children) {
    ASSIGN_OR_RETURN(const Value value, Evaluate(*child, scope));
    builder.Add(ToText(runtime_.budget(), value));
  }
  return Value(builder.Take());
}

Result<Value> Evaluator::EvaluateSlice(const Expression& node, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*node.children[0], scope));
  std::array<Value, 3> bounds = {None{}, None{}, None{}};
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (node.children[i + 1] == nullptr) continue;
    ASSIGN_OR_RETURN(bounds[i], Evaluate(*node.children[i + 1], scope));
  }
  Result<Value> slice = GetSlice(runtime_, value, bounds);
  if (!slice.ok()) return At(node, std::move(slice).status());
  return slice;
}

Result<Value> Evaluator::EvaluateAttribute(const Expression& node, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*node.children[0], scope));
  if (const Function* method = FindMethod(value, node.name))
    return Value(runtime_.heap.NewCallable({.function = method, .self = value}));
  Result<Value> attribute = GetAttribute(runtime_, value, node.name);
  if (!attribute.ok()) return At(node, std::move(attribute).status());
  return attribute;
}

Result<Arguments> Evaluator::EvaluateArguments(const Expression& node, Scope& scope) {
  Arguments arguments;
  arguments.values.reserve(node.children.size() - 1);
  for (size_t i = 1; i < node.children.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*node.children[i], scope));
    arguments.values.push_back(std::move(value));
  }
  arguments.names = node.names;
  return arguments;
}

Result<Value> Evaluator::EvaluateCall(const Expression& node, Scope& scope) {
  const Expression& callee = *node.children[0];
  if (callee.kind == ExpressionKind::kAttribute) {
    // A method, called at once: no object is made for it.
    ASSIGN_OR_RETURN(const Value self, Evaluate(*callee.children[0], scope));
    const Function* method = FindMethod(self, callee.name);
    Value function = Undefined{};
    if (method == nullptr) {
      Result<Value> attribute = GetAttribute(runtime_, self, callee.name);
      if (!attribute.ok()) return At(callee, std::move(attribute).status());
      function = *std::move(attribute);
    }
    ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
    if (method == nullptr) return CallValue(node, function, arguments);
    Result<Value> result = method->function(runtime_, self, arguments);
    if (!result.ok()) return At(node, std::move(result).status().WithContext(callee.name));
    return result;
  }
  ASSIGN_OR_RETURN(const Value function, Evaluate(callee, scope));
  ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
  return CallValue(node, function, arguments);
}

Result<Value> Evaluator::CallValue(const Expression& node, const Value& callee,
                                   const Arguments& arguments) {
  const auto* callable = std::get_if<const Callable*>(&callee);
  if (callable == nullptr) {
    const Expression& written = *node.children[0];
    return ErrorAt(node, (written.name.empty() ? "this" : Quoted(written.name)) +
                             " cannot be called: expected a function or macro, found " +
                             std::string(TypeName(callee)));
  }
  Result<Value> result =
      (*callable)->macro != nullptr
          ? CallMacro(**callable, arguments)
          : (*callable)->function->function(runtime_, (*callable)->self, arguments);
  if (result.ok() || (*callable)->macro != nullptr) return result;
  return At(node, std::move(result).status());
}

Result<Value> Evaluator::CallMacro(const Callable& callable, const Arguments& arguments) {
  const Macro& macro = *callable.macro;
  const auto refuse = [&macro](const std::string& problem) {
    return Status(ErrorCode::kInvalidArgument,
                  "chat template: macro '" + macro.name + "' " + problem);
  };
  if (arguments.positional() > macro.parameters.size()) {
    return refuse("takes " + std::to_string(macro.parameters.size()) + " arguments, found " +
                  std::to_string(arguments.positional()));
  }
  ScopeFrame frame(scopes_, runtime_.budget(), callable.scope);
  Scope& scope = *frame;
  // Each parameter is looked at, and for each argument with a name all of them.
  constexpr size_t kNamesPerStep = 8;
  const size_t searched = arguments.names.size() * macro.parameters.size() / kNamesPerStep;
  if (!runtime_.budget().Spend(static_cast<int64_t>(macro.parameters.size() + searched)))
    return runtime_.budget().status();
  std::vector<bool> given(macro.parameters.size(), false);
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    size_t place = i;
    if (i >= arguments.positional()) {
      const std::string& name = arguments.names[i - arguments.positional()];
      for (place = 0; place < macro.parameters.size(); ++place)
        if (macro.parameters[place].name == name) break;
      if (place == macro.parameters.size()) return refuse("has no parameter '" + name + "'");
      if (given[place]) return refuse("gets two values for its parameter '" + name + "'");
    }
    given[place] = true;
    scope.Set(macro.parameters[place].symbol, arguments.values[i]);
  }
  const size_t first_default = macro.parameters.size() - macro.defaults.size();
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    if (given[i]) continue;
    Value value = Undefined{macro.parameters[i].name};
    if (i >= first_default) {
      ASSIGN_OR_RETURN(value, Evaluate(*macro.defaults[i - first_default], scope));
    }
    scope.Set(macro.parameters[i].symbol, value);
  }
  ASSIGN_OR_RETURN(Captured captured, Capture(macro.body, scope));
  return Value(std::move(captured.text));
}

Result<Value> Evaluator::EvaluateFilter(const Expression& node, Scope& scope) {
  if (node.filter == nullptr)
    return At(node, Status(ErrorCode::kUnsupported, "there is no filter '" + node.name + "'"));
  Value input = block_input_;
  if (node.children[0] != nullptr) {
    ASSIGN_OR_RETURN(input, Evaluate(*node.children[0], scope));
  }
  ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
  Result<Value> result = node.filter->function(runtime_, input, arguments);
  if (!result.ok()) return At(node, std::move(result).status().WithContext("filter " + node.name));
  return result;
}

Result<Value> Evaluator::EvaluateTest(const Expression& node, Scope& scope) {
  if (node.test == nullptr)
    return At(node, Status(ErrorCode::kUnsupported, "there is no test '" + node.name + "'"));
  ASSIGN_OR_RETURN(const Value value, Evaluate(*node.children[0], scope));
  ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
  Result<Value> result = node.test->function(runtime_, value, arguments);
  if (!result.ok()) return At(node, std::move(result).status().WithContext("test " + node.name));
  return result;
}

}  // namespace skald::chat
