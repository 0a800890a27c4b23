#include "chat/answer/python_calls.h"

#include <utility>

#include "chat/answer/json_text.h"
#include "chat/answer/literals.h"
#include "grammar/limits.h"

namespace skald::chat {

namespace {

constexpr size_t kMaxWordSymbols = 1024;

class PythonCalls final : public CallReader {
 public:
  PythonCalls(std::vector<Symbols> closers, CallContext context)
      : context_(context), closers_(std::move(closers)) {
    std::vector<Symbols> heads;
    for (const ChatTool& tool : context_.tools.all()) heads.push_back(SymbolsOf(tool.name) + u"(");
    head_ = Literals(std::move(heads));
  }

  CallStep Push(Symbol symbol) override;
  void Finish() override {
    if (context_.out.in_call()) context_.out.EndCall();
  }
  const Symbols& unread() const override { return closers_.read(); }
  bool is_closing() const override { return state_ == State::kClose; }

 private:
  enum class State : uint8_t { kList, kHead, kKey, kValue, kString, kEscape, kBehindCall, kClose };

  CallStep PushHead(Symbol symbol);
  CallStep PushKey(Symbol symbol);
  CallStep PushValue(Symbol symbol);
  CallStep PushBracket(char byte);
  CallStep PushString(Symbol symbol);
  CallStep PushEscape(Symbol symbol);
  CallStep PushClose(Symbol symbol);
  CallStep EndCall();
  void EndWord();
  // What has been read up to a call is part of it.
  CallStep Go(State state) {
    state_ = state;
    return CallStep::kSettled;
  }

  CallContext context_;
  Literals head_;
  Literals closers_;
  State state_ = State::kList;
  std::string word_;
  std::string open_;  // brackets of the value
  char quote_ = 0;
  bool has_arguments_ = false;
};

CallStep PythonCalls::Push(Symbol symbol) {
  switch (state_) {
    case State::kList:
      if (IsBlank(symbol)) return CallStep::kMore;
      if (symbol != '[') return CallStep::kFail;
      state_ = State::kHead;
      return CallStep::kMore;
    case State::kHead: return PushHead(symbol);
    case State::kKey: return PushKey(symbol);
    case State::kValue: return PushValue(symbol);
    case State::kString: return PushString(symbol);
    case State::kEscape: return PushEscape(symbol);
    case State::kBehindCall:
      if (IsBlank(symbol)) return CallStep::kMore;
      head_.Reset();
      if (symbol == ',') return Go(State::kHead);
      if (symbol != ']') return CallStep::kFail;
      return closers_.empty() ? CallStep::kDone : Go(State::kClose);
    case State::kClose: return PushClose(symbol);
  }
  return CallStep::kFail;
}

CallStep PythonCalls::PushHead(Symbol symbol) {
  if (head_.read().empty() && IsBlank(symbol)) return CallStep::kMore;
  const Literals::Match match = head_.Push(symbol);
  if (match == Literals::Match::kNo) return CallStep::kFail;
  if (match == Literals::Match::kPartial) return CallStep::kMore;
  context_.out.BeginCall(context_.tools.all()[head_.which()].name, {});
  context_.out.Arguments("{");
  has_arguments_ = false;
  word_.clear();
  return Go(State::kKey);
}

// "name=", or the end of the call.
CallStep PythonCalls::PushKey(Symbol symbol) {
  if (IsBlank(symbol)) return CallStep::kSettled;
  if (symbol == ')' && word_.empty()) return EndCall();
  if (symbol == '=' && !word_.empty()) {
    context_.out.Arguments(std::exchange(has_arguments_, true) ? "," : "");
    context_.out.Arguments(JsonString(std::exchange(word_, {})) + ":");
    return Go(State::kValue);
  }
  if (!IsPythonWord(symbol) || word_.size() == kMaxWordSymbols) {
    context_.out.Arguments("}");
    return CallStep::kFail;
  }
  word_ += static_cast<char>(symbol);
  return CallStep::kSettled;
}

// A number or a word is complete.
void PythonCalls::EndWord() {
  if (!word_.empty()) context_.out.Arguments(JsonOfBareValue(word_, ChatTool::Kind::kAny));
  word_.clear();
}

CallStep PythonCalls::PushValue(Symbol symbol) {
  if (IsPythonWord(symbol) && word_.size() < kMaxWordSymbols) {
    word_ += static_cast<char>(symbol);
    return CallStep::kSettled;
  }
  EndWord();
  if (IsBlank(symbol)) return CallStep::kSettled;
  if (symbol == '"' || symbol == '\'') {
    quote_ = static_cast<char>(symbol);
    context_.out.Arguments("\"");
    return Go(State::kString);
  }
  if (symbol >= 0x80) return CallStep::kFail;
  return PushBracket(static_cast<char>(symbol));
}

CallStep PythonCalls::PushBracket(char byte) {
  switch (byte) {
    case '[':
    case '(':
    case '{':
      if (open_.size() == grammar::kTextDepthMax) return CallStep::kFail;
      open_ += byte == '{' ? '}' : ']';
      context_.out.Arguments(byte == '{' ? "{" : "[");
      return CallStep::kSettled;
    case ']':
    case ')':
    case '}':
      if (open_.empty()) return byte == ')' ? EndCall() : CallStep::kFail;
      context_.out.Arguments({&open_.back(), 1});
      open_.pop_back();
      return CallStep::kSettled;
    case ',':
      if (open_.empty()) return Go(State::kKey);
      context_.out.Arguments(",");
      return CallStep::kSettled;
    case ':': context_.out.Arguments(":"); return CallStep::kSettled;
    default: return CallStep::kFail;
  }
}

CallStep PythonCalls::PushString(Symbol symbol) {
  if (symbol == '\\') return Go(State::kEscape);
  if (IsMark(symbol)) return CallStep::kSettled;
  const char byte = static_cast<char>(symbol);
  if (byte == quote_) {
    context_.out.Arguments("\"");
    return Go(State::kValue);
  }
  std::string json;
  AppendJsonByte(byte, &json);
  context_.out.Arguments(json);
  return CallStep::kSettled;
}

// Python's escapes that JSON has are JSON's; of others both symbols stand.
CallStep PythonCalls::PushEscape(Symbol symbol) {
  constexpr std::u16string_view kSame = u"\\\"nrtbfu";
  std::string json;
  if (symbol == '\'') {
    json = "'";
  } else if (symbol == 'x') {
    json = "\\u00";
  } else if (kSame.find(symbol) != std::u16string_view::npos) {
    json = {'\\', static_cast<char>(symbol)};
  } else {
    json = "\\\\";
    if (!IsMark(symbol)) AppendJsonByte(static_cast<char>(symbol), &json);
  }
  context_.out.Arguments(json);
  return Go(State::kString);
}

CallStep PythonCalls::EndCall() {
  context_.out.Arguments("}");
  context_.out.EndCall();
  return Go(State::kBehindCall);
}

CallStep PythonCalls::PushClose(Symbol symbol) {
  switch (closers_.Push(symbol)) {
    case Literals::Match::kWhole: return CallStep::kDone;
    case Literals::Match::kPartial: return CallStep::kMore;
    case Literals::Match::kNo: break;
  }
  return closers_.read().empty() && IsBlank(symbol) ? CallStep::kMore : CallStep::kFail;
}

}  // namespace

bool IsPythonWord(Symbol symbol) {
  return (symbol >= 'a' && symbol <= 'z') || (symbol >= 'A' && symbol <= 'Z') ||
         (symbol >= '0' && symbol <= '9') || symbol == '_' || symbol == '.' || symbol == '-' ||
         symbol == '+';
}

std::unique_ptr<CallReader> ReadPythonCalls(std::vector<Symbols> closers, CallContext context) {
  return std::make_unique<PythonCalls>(std::move(closers), context);
}

}  // namespace skald::chat
