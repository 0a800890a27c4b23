#include "chat/parser.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "chat/expression_parser.h"
#include "chat/lexer.h"
#include "chat/token_stream.h"

namespace skald::chat {

namespace {

using Names = std::span<const std::string_view>;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens)
      : stream_(std::move(tokens)), expressions_(stream_, symbols_) {}

  Result<SyntaxTree> Run() {
    SyntaxTree tree;
    ASSIGN_OR_RETURN(tree.body, ParseBody({}));
    tree.symbols = symbols_.names();
    tree.read = symbols_.read();
    return tree;
  }

 private:
  Result<Body> ParseBody(Names ends);
  Result<Statement> ParseTag();
  Result<Statement> ParseSet();
  Result<Statement> ParseIf();
  Result<Statement> ParseFor();
  Result<Statement> ParseMacro();
  Result<Statement> ParseFilterBlock();
  Result<Statement> ParseLoopControl();
  Status ParseTargets(Statement* statement);
  // "%}", the statements up to the tag `end`, and that tag.
  Result<Body> ParseBlock(std::string_view end);
  Result<Body> ParseOutsideOfLoops(std::string_view end);

  Statement New(StatementKind kind) const {
    Statement statement;
    statement.kind = kind;
    statement.line = stream_.line();
    return statement;
  }

  TokenStream stream_;
  SymbolTable symbols_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;  // around the statement being parsed, that it can leave
};

bool IsOneOf(const Token& token, Names names) {
  for (const std::string_view name : names)
    if (token.kind == TokenKind::kName && token.text == name) return true;
  return false;
}

std::string Listed(Names names) {
  std::string text;
  for (const std::string_view name : names)
    text += (text.empty() ? "'" : " or '") + std::string(name) + "'";
  return text;
}

// Statements up to a tag that begins with one of `ends`, which is then the current token; with no
// ends, up to the end of the template.
Result<Body> Parser::ParseBody(Names ends) {
  const Level level(&nesting_);
  if (nesting_ > kMaxTreeDepth)
    return stream_.Error(ErrorCode::kBadModel,
                         "statements are nested too deeply; expected at most " +
                             std::to_string(kMaxTreeDepth) + " levels");
  Body body;
  while (!stream_.Is(TokenKind::kEnd)) {
    if (stream_.Is(TokenKind::kData)) {
      body.push_back(New(StatementKind::kText));
      body.back().text = Text(stream_.current().text, Origin::kTemplate);
      stream_.Advance();
    } else if (stream_.Is(TokenKind::kVariableBegin)) {
      stream_.Advance();
      body.push_back(New(StatementKind::kPrint));
      ASSIGN_OR_RETURN(body.back().value, expressions_.ParseTuple());
      RETURN_IF_ERROR(stream_.ExpectEndOf(TokenKind::kVariableEnd));
    } else {
      stream_.Advance();  // kBlockBegin: the only other token outside of tags
      if (IsOneOf(stream_.current(), ends)) return body;
      ASSIGN_OR_RETURN(Statement statement, ParseTag());
      body.push_back(std::move(statement));
      RETURN_IF_ERROR(stream_.ExpectEndOf(TokenKind::kBlockEnd));
    }
  }
  if (!ends.empty()) return stream_.Expected(Listed(ends));
  return body;
}

Result<Body> Parser::ParseBlock(std::string_view end) {
  RETURN_IF_ERROR(stream_.ExpectEndOf(TokenKind::kBlockEnd));
  ASSIGN_OR_RETURN(Body body, ParseBody(Names(&end, 1)));
  stream_.Advance();
  return body;
}

// The current token is the first of a tag; at the end it is the "%}" of the tag or its end tag.
Result<Statement> Parser::ParseTag() {
  if (stream_.IsName("set")) return ParseSet();
  if (stream_.IsName("if")) return ParseIf();
  if (stream_.IsName("for")) return ParseFor();
  if (stream_.IsName("macro")) return ParseMacro();
  if (stream_.IsName("filter")) return ParseFilterBlock();
  if (stream_.IsName("break") || stream_.IsName("continue")) return ParseLoopControl();
  if (stream_.IsName("generation")) {
    Statement statement = New(StatementKind::kGeneration);
    stream_.Advance();
    ASSIGN_OR_RETURN(statement.body, ParseOutsideOfLoops("endgeneration"));
    return statement;
  }
  constexpr std::string_view kUnsupported[] = {"include", "import", "from", "extends",    "block",
                                               "call",    "with",   "do",   "autoescape", "print"};
  if (IsOneOf(stream_.current(), kUnsupported)) {
    return stream_.Error(ErrorCode::kUnsupported,
                         "the tag '" + stream_.current().text + "' is not supported");
  }
  if (!stream_.Is(TokenKind::kName)) return stream_.Expected("the name of a tag");
  return stream_.Expected("a tag (set, if, for, macro, filter, generation, break, continue)");
}

Status Parser::ParseTargets(Statement* statement) {
  const bool brackets = stream_.TakeOperator("(");
  while (true) {
    Target target;
    ASSIGN_OR_RETURN(target.name, stream_.ExpectName("the name of a variable"));
    constexpr std::string_view kReserved[] = {"true", "false", "none", "True", "False", "None"};
    for (const std::string_view reserved : kReserved) {
      if (target.name == reserved)
        return stream_.Error(ErrorCode::kBadModel, "cannot assign to '" + target.name + "'");
    }
    target.symbol = symbols_.Of(target.name);
    statement->targets.push_back(std::move(target));
    if (!stream_.TakeOperator(",")) break;
    statement->unpacks = true;
    if (!stream_.Is(TokenKind::kName) || stream_.IsName("in")) break;  // "a," is a tuple of one
  }
  return brackets ? stream_.ExpectOperator(")") : Ok();
}

Result<Statement> Parser::ParseSet() {
  Statement statement = New(StatementKind::kSet);
  stream_.Advance();
  RETURN_IF_ERROR(ParseTargets(&statement));
  if (statement.targets.size() == 1 && stream_.TakeOperator(".")) {
    statement.kind = StatementKind::kSetAttribute;
    ASSIGN_OR_RETURN(statement.name, stream_.ExpectName("the name of an attribute"));
    symbols_.MarkRead(statement.targets[0].symbol);
  }
  if (stream_.TakeOperator("=")) {
    ASSIGN_OR_RETURN(statement.value, expressions_.ParseTuple());
    return statement;
  }
  if (statement.kind == StatementKind::kSetAttribute) return stream_.Expected("'='");
  statement.kind = StatementKind::kSetBlock;
  if (stream_.TakeOperator("|")) {
    ASSIGN_OR_RETURN(statement.value, expressions_.ParseFilter(nullptr));
  }
  ASSIGN_OR_RETURN(statement.body, ParseBlock("endset"));
  return statement;
}

Result<Statement> Parser::ParseIf() {
  constexpr std::string_view kEnds[] = {"elif", "else", "endif"};
  Statement statement = New(StatementKind::kIf);
  const Unknown outside = expressions_.unknown();
  do {  // the current token is "if" or "elif"
    stream_.Advance();
    Branch branch;
    ASSIGN_OR_RETURN(branch.condition, expressions_.ParseTuple(Conditionals::kNot));
    expressions_.set_unknown(Unknown::kDefer);
    RETURN_IF_ERROR(stream_.ExpectEndOf(TokenKind::kBlockEnd));
    ASSIGN_OR_RETURN(branch.body, ParseBody(kEnds));
    statement.branches.push_back(std::move(branch));
  } while (stream_.IsName("elif"));
  if (stream_.TakeName("else")) {
    ASSIGN_OR_RETURN(statement.else_body, ParseBlock("endif"));
  } else {
    stream_.Advance();
  }
  expressions_.set_unknown(outside);
  return statement;
}

Result<Statement> Parser::ParseFor() {
  constexpr std::string_view kEnds[] = {"else", "endfor"};
  Statement statement = New(StatementKind::kFor);
  stream_.Advance();
  RETURN_IF_ERROR(ParseTargets(&statement));
  if (!stream_.TakeName("in")) return stream_.Expected("'in'");
  ASSIGN_OR_RETURN(statement.value, expressions_.ParseTuple(Conditionals::kNot));
  if (stream_.TakeName("if")) {
    ASSIGN_OR_RETURN(statement.condition, expressions_.Parse());
  }
  if (stream_.IsName("recursive")) {
    return stream_.Error(ErrorCode::kUnsupported, "recursive loops are not supported");
  }
  RETURN_IF_ERROR(stream_.ExpectEndOf(TokenKind::kBlockEnd));
  ++loops_;
  ASSIGN_OR_RETURN(statement.body, ParseBody(kEnds));
  --loops_;
  if (stream_.TakeName("else")) {
    ASSIGN_OR_RETURN(statement.else_body, ParseBlock("endfor"));
  } else {
    stream_.Advance();
  }
  return statement;
}

// The body of what Jinja makes a function of its own: a loop around it cannot be left from there.
Result<Body> Parser::ParseOutsideOfLoops(std::string_view end) {
  const int loops = std::exchange(loops_, 0);
  ASSIGN_OR_RETURN(Body body, ParseBlock(end));
  loops_ = loops;
  return body;
}

Result<Statement> Parser::ParseMacro() {
  Statement statement = New(StatementKind::kMacro);
  stream_.Advance();
  auto macro = std::make_unique<Macro>();
  ASSIGN_OR_RETURN(macro->name, stream_.ExpectName("the name of the macro"));
  statement.targets.push_back({symbols_.Of(macro->name), macro->name});
  RETURN_IF_ERROR(stream_.ExpectOperator("("));
  while (!stream_.IsOperator(")")) {
    if (!macro->parameters.empty()) RETURN_IF_ERROR(stream_.ExpectOperator(","));
    Target parameter;
    ASSIGN_OR_RETURN(parameter.name, stream_.ExpectName("the name of a parameter"));
    parameter.symbol = symbols_.Of(parameter.name);
    if (stream_.TakeOperator("=")) {
      ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.Parse());
      macro->defaults.push_back(std::move(value));
    } else if (!macro->defaults.empty()) {
      return stream_.Expected("a default value: the parameter before has one");
    }
    macro->parameters.push_back(std::move(parameter));
  }
  stream_.Advance();
  ASSIGN_OR_RETURN(macro->body, ParseOutsideOfLoops("endmacro"));
  statement.macro = std::move(macro);
  return statement;
}

Result<Statement> Parser::ParseFilterBlock() {
  Statement statement = New(StatementKind::kFilterBlock);
  stream_.Advance();
  ASSIGN_OR_RETURN(statement.value, expressions_.ParseFilter(nullptr));
  ASSIGN_OR_RETURN(statement.body, ParseBlock("endfilter"));
  return statement;
}

Result<Statement> Parser::ParseLoopControl() {
  Statement statement =
      New(stream_.IsName("break") ? StatementKind::kBreak : StatementKind::kContinue);
  if (loops_ == 0) {
    return stream_.Error(ErrorCode::kBadModel,
                         Quoted(stream_.current().text) + " stands outside of a loop");
  }
  stream_.Advance();
  return statement;
}

}  // namespace

Result<SyntaxTree> Parse(std::string_view source) {
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace skald::chat
