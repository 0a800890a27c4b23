/// TokenStream: the tokens of a template, read by the parser one after another.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/lexer.h"
#include "chat/text.h"
#include "skald/status.h"

namespace skald::chat {

/// Never runs past the kEnd token.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int line() const { return current().line; }
  void Advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }

  bool Is(TokenKind kind) const { return current().kind == kind; }
  bool IsName(std::string_view name) const {
    return Is(TokenKind::kName) && current().text == name;
  }
  bool IsOperator(std::string_view op) const {
    return Is(TokenKind::kOperator) && current().text == op;
  }
  bool TakeName(std::string_view name) {
    const bool is = IsName(name);
    if (is) Advance();
    return is;
  }
  bool TakeOperator(std::string_view op) {
    const bool is = IsOperator(op);
    if (is) Advance();
    return is;
  }

  /// An error at the current token.
  Status Error(ErrorCode code, std::string message) const {
    return Status(code,
                  "chat template, line " + std::to_string(line()) + ": " + std::move(message));
  }
  Status Expected(std::string_view what) const {
    return Error(ErrorCode::kBadModel,
                 "expected " + std::string(what) + ", found " + Describe(current()));
  }
  Status ExpectOperator(std::string_view op) {
    return TakeOperator(op) ? Ok() : Expected(Quoted(op));
  }
  Result<std::string> ExpectName(std::string_view what) {
    if (!Is(TokenKind::kName)) return Expected(what);
    std::string name = current().text;
    Advance();
    return name;
  }
  Status ExpectEndOf(TokenKind kind) {
    if (!Is(kind)) return Expected(kind == TokenKind::kBlockEnd ? "'%}'" : "'}}'");
    Advance();
    return Ok();
  }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace skald::chat
