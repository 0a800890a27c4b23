#include "chat/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "chat/builtins.h"

namespace skald::chat {

namespace {

ExpressionPtr Node(ExpressionKind kind, int line) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  return node;
}

void AddChild(Expression* node, ExpressionPtr child) {
  if (child != nullptr) node->depth = std::max(node->depth, child->depth + 1);
  node->children.push_back(std::move(child));
}

ExpressionPtr Pair(ExpressionKind kind, int line, ExpressionPtr left, ExpressionPtr right) {
  ExpressionPtr node = Node(kind, line);
  AddChild(node.get(), std::move(left));
  AddChild(node.get(), std::move(right));
  return node;
}

std::optional<CompareOp> CompareOpOf(std::string_view op) {
  if (op == "==") return CompareOp::kEqual;
  if (op == "!=") return CompareOp::kNotEqual;
  if (op == "<") return CompareOp::kLess;
  if (op == "<=") return CompareOp::kLessEqual;
  if (op == ">") return CompareOp::kGreater;
  if (op == ">=") return CompareOp::kGreaterEqual;
  return std::nullopt;
}

// The operators of the levels of ParseBinary, weakest first. "~" stands between the first two.
std::optional<BinaryOp> BinaryOpOf(std::string_view op, int level) {
  if (level == 0 && op == "+") return BinaryOp::kAdd;
  if (level == 0 && op == "-") return BinaryOp::kSubtract;
  if (level == 1 && op == "*") return BinaryOp::kMultiply;
  if (level == 1 && op == "/") return BinaryOp::kDivide;
  if (level == 1 && op == "//") return BinaryOp::kFloorDivide;
  if (level == 1 && op == "%") return BinaryOp::kModulo;
  if (level == 2 && op == "**") return BinaryOp::kPower;
  return std::nullopt;
}

}  // namespace

SymbolId SymbolTable::Of(const std::string& name) {
  const auto [place, is_new] = numbers_.try_emplace(name, static_cast<SymbolId>(names_.size()));
  if (is_new) {
    names_.push_back(name);
    read_.push_back(false);
  }
  return place->second;
}

Result<ExpressionPtr> ExpressionParser::Checked(ExpressionPtr node) const {
  if (node->depth <= kMaxTreeDepth) return node;
  return stream_.Error(ErrorCode::kBadModel,
                       "this expression is nested too deeply; expected at most " +
                           std::to_string(kMaxTreeDepth) + " levels");
}

bool ExpressionParser::TupleEnds() const {
  return stream_.Is(TokenKind::kVariableEnd) || stream_.Is(TokenKind::kBlockEnd) ||
         stream_.IsOperator(")") || stream_.IsName("recursive");
}

Result<ExpressionPtr> ExpressionParser::ParseTuple(Conditionals conditionals) {
  const int line = stream_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, Parse(conditionals));
  if (!stream_.IsOperator(",")) return first;
  ExpressionPtr tuple = Node(ExpressionKind::kTuple, line);
  AddChild(tuple.get(), std::move(first));
  while (stream_.TakeOperator(",")) {
    if (TupleEnds()) break;
    ASSIGN_OR_RETURN(ExpressionPtr item, Parse(conditionals));
    AddChild(tuple.get(), std::move(item));
  }
  return Checked(std::move(tuple));
}

Result<ExpressionPtr> ExpressionParser::Parse(Conditionals conditionals) {
  const Level level(&nesting_);
  if (nesting_ > kMaxTreeDepth) {
    return stream_.Error(ErrorCode::kBadModel,
                         "expressions are nested too deeply; expected at most " +
                             std::to_string(kMaxTreeDepth) + " levels");
  }
  ASSIGN_OR_RETURN(ExpressionPtr value, ParseOr());
  while (conditionals == Conditionals::kAllowed && stream_.IsName("if")) {
    ExpressionPtr node = Node(ExpressionKind::kConditional, stream_.line());
    stream_.Advance();
    ASSIGN_OR_RETURN(ExpressionPtr condition, ParseOr());
    AddChild(node.get(), std::move(value));
    AddChild(node.get(), std::move(condition));
    if (stream_.TakeName("else")) {
      ASSIGN_OR_RETURN(ExpressionPtr other, Parse());
      AddChild(node.get(), std::move(other));
    }
    ASSIGN_OR_RETURN(value, Checked(std::move(node)));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::ParseOr() {
  ASSIGN_OR_RETURN(ExpressionPtr left, ParseAnd());
  while (stream_.IsName("or")) {
    const int line = stream_.line();
    stream_.Advance();
    ASSIGN_OR_RETURN(ExpressionPtr right, ParseAnd());
    ASSIGN_OR_RETURN(left,
                     Checked(Pair(ExpressionKind::kOr, line, std::move(left), std::move(right))));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseAnd() {
  ASSIGN_OR_RETURN(ExpressionPtr left, ParseNot());
  while (stream_.IsName("and")) {
    const int line = stream_.line();
    stream_.Advance();
    ASSIGN_OR_RETURN(ExpressionPtr right, ParseNot());
    ASSIGN_OR_RETURN(left,
                     Checked(Pair(ExpressionKind::kAnd, line, std::move(left), std::move(right))));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseNot() {
  int negations = 0;
  const int line = stream_.line();
  while (stream_.TakeName("not")) ++negations;
  ASSIGN_OR_RETURN(ExpressionPtr value, ParseCompare());
  for (; negations > 0; --negations) {
    ExpressionPtr node = Node(ExpressionKind::kNot, line);
    AddChild(node.get(), std::move(value));
    ASSIGN_OR_RETURN(value, Checked(std::move(node)));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::ParseCompare() {
  const int line = stream_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, ParseBinary(0));
  ExpressionPtr node;
  while (true) {
    std::optional<CompareOp> op;
    if (stream_.Is(TokenKind::kOperator)) op = CompareOpOf(stream_.current().text);
    if (stream_.IsName("in")) op = CompareOp::kIn;
    if (stream_.IsName("not") && stream_.next().kind == TokenKind::kName &&
        stream_.next().text == "in") {
      op = CompareOp::kNotIn;
      stream_.Advance();
    }
    if (!op) break;
    stream_.Advance();
    if (node == nullptr) {
      node = Node(ExpressionKind::kCompare, line);
      AddChild(node.get(), std::move(first));
    }
    node->ops.push_back(*op);
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParseBinary(0));
    AddChild(node.get(), std::move(operand));
  }
  return node == nullptr ? std::move(first) : Checked(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseBinary(int level) {
  constexpr int kLevels = 3;
  if (level == kLevels) return ParseUnary();
  const auto operand = [this, level] {
    return level == 0 ? ParseConcat() : ParseBinary(level + 1);
  };
  ASSIGN_OR_RETURN(ExpressionPtr left, operand());
  while (stream_.Is(TokenKind::kOperator)) {
    const std::optional<BinaryOp> op = BinaryOpOf(stream_.current().text, level);
    if (!op) break;
    const int line = stream_.line();
    stream_.Advance();
    ASSIGN_OR_RETURN(ExpressionPtr right, operand());
    ExpressionPtr node = Pair(ExpressionKind::kBinary, line, std::move(left), std::move(right));
    node->op = *op;
    ASSIGN_OR_RETURN(left, Checked(std::move(node)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseConcat() {
  const int line = stream_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, ParseBinary(1));
  if (!stream_.IsOperator("~")) return first;
  ExpressionPtr node = Node(ExpressionKind::kConcat, line);
  AddChild(node.get(), std::move(first));
  while (stream_.TakeOperator("~")) {
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParseBinary(1));
    AddChild(node.get(), std::move(operand));
  }
  return Checked(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseUnary() {
  ASSIGN_OR_RETURN(ExpressionPtr node, ParseSigned());
  return ParseFilters(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseSigned() {
  const Level level(&nesting_);
  if (nesting_ > kMaxTreeDepth)
    return stream_.Error(ErrorCode::kBadModel, "expressions are nested too deeply");
  ExpressionPtr node;
  if (stream_.IsOperator("-") || stream_.IsOperator("+")) {
    const bool minus = stream_.IsOperator("-");
    node = Node(minus ? ExpressionKind::kNegate : ExpressionKind::kPlus, stream_.line());
    stream_.Advance();
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParseSigned());
    AddChild(node.get(), std::move(operand));
  } else {
    ASSIGN_OR_RETURN(node, ParsePrimary());
  }
  ASSIGN_OR_RETURN(node, ParsePostfix(std::move(node)));
  return Checked(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParsePrimary() {
  const int line = stream_.line();
  if (stream_.Is(TokenKind::kInteger) || stream_.Is(TokenKind::kFloat)) return ParseNumber();
  if (stream_.Is(TokenKind::kString)) {
    std::string value;
    for (; stream_.Is(TokenKind::kString); stream_.Advance()) value += stream_.current().text;
    ExpressionPtr node = Node(ExpressionKind::kConstant, line);
    node->constant = Text(std::move(value), Origin::kTemplate);
    return node;
  }
  if (stream_.Is(TokenKind::kOperator)) return ParseBracketed();
  if (!stream_.Is(TokenKind::kName)) return stream_.Expected("an expression");
  const std::string name = stream_.current().text;
  stream_.Advance();
  ExpressionPtr node = Node(ExpressionKind::kConstant, line);
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->constant = name == "true" || name == "True";
  } else if (name == "none" || name == "None") {
    node->constant = None{};
  } else {
    node->kind = ExpressionKind::kName;
    node->symbol = symbols_.Of(name);
    node->name = name;
    symbols_.MarkRead(node->symbol);
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::ParseNumber() {
  const std::string& text = stream_.current().text;
  ExpressionPtr node = Node(ExpressionKind::kConstant, stream_.line());
  const char* end = text.data() + text.size();
  if (stream_.Is(TokenKind::kInteger)) {
    int64_t number = 0;
    if (std::from_chars(text.data(), end, number).ec != std::errc())
      return stream_.Expected("a number of 64 bits");
    node->constant = number;
  } else {
    double number = 0;
    if (std::from_chars(text.data(), end, number).ec != std::errc())
      return stream_.Expected("a number of double precision");
    node->constant = number;
  }
  stream_.Advance();
  return node;
}

Result<ExpressionPtr> ExpressionParser::ParseBracketed() {
  if (stream_.IsOperator("[")) return ParseListOrDict(ExpressionKind::kList, "]");
  if (stream_.IsOperator("{")) return ParseListOrDict(ExpressionKind::kDict, "}");
  if (!stream_.IsOperator("(")) return stream_.Expected("an expression");
  const int line = stream_.line();
  stream_.Advance();
  if (stream_.TakeOperator(")")) return Node(ExpressionKind::kTuple, line);
  ASSIGN_OR_RETURN(ExpressionPtr inside, ParseTuple());
  RETURN_IF_ERROR(stream_.ExpectOperator(")"));
  return inside;
}

Result<ExpressionPtr> ExpressionParser::ParseListOrDict(ExpressionKind kind,
                                                        std::string_view closing) {
  ExpressionPtr node = Node(kind, stream_.line());
  stream_.Advance();
  while (!stream_.IsOperator(closing)) {
    if (!node->children.empty()) {
      RETURN_IF_ERROR(stream_.ExpectOperator(","));
      if (stream_.IsOperator(closing)) break;
    }
    ASSIGN_OR_RETURN(ExpressionPtr item, Parse());
    AddChild(node.get(), std::move(item));
    if (kind != ExpressionKind::kDict) continue;
    RETURN_IF_ERROR(stream_.ExpectOperator(":"));
    ASSIGN_OR_RETURN(ExpressionPtr value, Parse());
    AddChild(node.get(), std::move(value));
  }
  stream_.Advance();
  return Checked(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParsePostfix(ExpressionPtr node) {
  while (stream_.IsOperator(".") || stream_.IsOperator("[") || stream_.IsOperator("(")) {
    if (stream_.IsOperator("(")) {
      ExpressionPtr call = Node(ExpressionKind::kCall, stream_.line());
      AddChild(call.get(), std::move(node));
      RETURN_IF_ERROR(ParseArguments(call.get()));
      ASSIGN_OR_RETURN(node, Checked(std::move(call)));
    } else {
      ASSIGN_OR_RETURN(node, ParseSubscript(std::move(node)));
    }
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::ParseFilters(ExpressionPtr node) {
  while (true) {
    if (stream_.TakeOperator("|")) {
      ASSIGN_OR_RETURN(node, ParseFilter(std::move(node)));
    } else if (stream_.TakeName("is")) {
      ASSIGN_OR_RETURN(node, ParseTest(std::move(node)));
    } else if (stream_.IsOperator("(")) {
      ExpressionPtr call = Node(ExpressionKind::kCall, stream_.line());
      AddChild(call.get(), std::move(node));
      RETURN_IF_ERROR(ParseArguments(call.get()));
      ASSIGN_OR_RETURN(node, Checked(std::move(call)));
    } else {
      return node;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::ParseSubscript(ExpressionPtr node) {
  const int line = stream_.line();
  if (stream_.TakeOperator(".")) {
    if (stream_.Is(TokenKind::kInteger)) {
      ASSIGN_OR_RETURN(ExpressionPtr index, ParseNumber());
      return Checked(Pair(ExpressionKind::kItem, line, std::move(node), std::move(index)));
    }
    ExpressionPtr attribute = Node(ExpressionKind::kAttribute, line);
    ASSIGN_OR_RETURN(attribute->name, stream_.ExpectName("the name of an attribute"));
    AddChild(attribute.get(), std::move(node));
    return Checked(std::move(attribute));
  }
  stream_.Advance();
  if (stream_.IsOperator(":")) return ParseSlice(std::move(node), nullptr, line);
  ASSIGN_OR_RETURN(ExpressionPtr index, ParseTuple());
  if (stream_.IsOperator(":")) return ParseSlice(std::move(node), std::move(index), line);
  RETURN_IF_ERROR(stream_.ExpectOperator("]"));
  return Checked(Pair(ExpressionKind::kItem, line, std::move(node), std::move(index)));
}

Result<ExpressionPtr> ExpressionParser::ParseSlice(ExpressionPtr node, ExpressionPtr first,
                                                   int line) {
  ExpressionPtr slice = Pair(ExpressionKind::kSlice, line, std::move(node), std::move(first));
  for (int part = 0; part < 2; ++part) {
    ExpressionPtr bound;
    if (stream_.TakeOperator(":") && !stream_.IsOperator(":") && !stream_.IsOperator("]")) {
      ASSIGN_OR_RETURN(bound, Parse());
    }
    AddChild(slice.get(), std::move(bound));
  }
  RETURN_IF_ERROR(stream_.ExpectOperator("]"));
  return Checked(std::move(slice));
}

Status ExpressionParser::ParseArguments(Expression* call) {
  RETURN_IF_ERROR(stream_.ExpectOperator("("));
  bool first = true;
  while (!stream_.IsOperator(")")) {
    if (!first) {
      RETURN_IF_ERROR(stream_.ExpectOperator(","));
      if (stream_.IsOperator(")")) break;
    }
    first = false;
    if (stream_.IsOperator("*") || stream_.IsOperator("**")) {
      return stream_.Error(ErrorCode::kUnsupported,
                           "arguments by '*' and '**' are not supported; expected them one by one");
    }
    const bool named = stream_.Is(TokenKind::kName) &&
                       stream_.next().kind == TokenKind::kOperator && stream_.next().text == "=";
    if (named) {
      call->names.push_back(stream_.current().text);
      stream_.Advance();
      stream_.Advance();
    } else if (!call->names.empty()) {
      return stream_.Expected("another argument by name");
    }
    ASSIGN_OR_RETURN(ExpressionPtr argument, Parse());
    AddChild(call, std::move(argument));
  }
  stream_.Advance();
  return Ok();
}

Result<ExpressionPtr> ExpressionParser::ParseFilter(ExpressionPtr input) {
  while (true) {
    ExpressionPtr node = Node(ExpressionKind::kFilter, stream_.line());
    ASSIGN_OR_RETURN(node->name, stream_.ExpectName("the name of a filter"));
    node->filter = FindFilter(node->name);
    if (node->filter == nullptr && unknown_ == Unknown::kRefuse) {
      return stream_.Error(ErrorCode::kUnsupported, "there is no filter '" + node->name + "'");
    }
    AddChild(node.get(), std::move(input));
    if (stream_.IsOperator("(")) RETURN_IF_ERROR(ParseArguments(node.get()));
    ASSIGN_OR_RETURN(input, Checked(std::move(node)));
    if (!stream_.TakeOperator("|")) return input;
  }
}

Result<ExpressionPtr> ExpressionParser::ParseTest(ExpressionPtr node) {
  ExpressionPtr test = Node(ExpressionKind::kTest, stream_.line());
  const bool negated = stream_.TakeName("not");
  ASSIGN_OR_RETURN(test->name, stream_.ExpectName("the name of a test"));
  test->test = FindValueTest(test->name);
  if (test->test == nullptr && unknown_ == Unknown::kRefuse)
    return stream_.Error(ErrorCode::kUnsupported, "there is no test '" + test->name + "'");
  AddChild(test.get(), std::move(node));
  if (stream_.IsOperator("(")) {
    RETURN_IF_ERROR(ParseArguments(test.get()));
  } else if (!stream_.IsName("else") && !stream_.IsName("or") && !stream_.IsName("and") &&
             (stream_.Is(TokenKind::kName) || stream_.Is(TokenKind::kString) ||
              stream_.Is(TokenKind::kInteger) || stream_.Is(TokenKind::kFloat) ||
              stream_.IsOperator("[") || stream_.IsOperator("{"))) {
    if (stream_.IsName("is")) return stream_.Expected("no second test: use 'and'");
    ASSIGN_OR_RETURN(ExpressionPtr argument, ParsePrimary());
    ASSIGN_OR_RETURN(argument, ParsePostfix(std::move(argument)));
    AddChild(test.get(), std::move(argument));
  }
  if (!negated) return Checked(std::move(test));
  ExpressionPtr negation = Node(ExpressionKind::kNot, test->line);
  AddChild(negation.get(), std::move(test));
  return Checked(std::move(negation));
}

}  // namespace skald::chat
