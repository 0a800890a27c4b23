#include "chat/answer/gemma_calls.h"

#include <utility>

#include "chat/answer/json_text.h"
#include "chat/answer/literals.h"
#include "grammar/limits.h"

namespace skald::chat {

namespace {

constexpr size_t kMaxKeySymbols = 1024;

class GemmaCalls final : public CallReader {
 public:
  GemmaCalls(GemmaCallForm form, CallContext context)
      : context_(context), quote_({form.quote}), closer_({form.closer}) {
    std::vector<Symbols> heads;
    for (const ChatTool& tool : context_.tools.all())
      heads.push_back(u"call:" + SymbolsOf(tool.name) + u"{");
    head_ = Literals(std::move(heads));
  }

  CallStep Push(Symbol symbol) override;
  void Finish() override {
    if (context_.out.in_call()) context_.out.EndCall();
  }
  const Symbols& unread() const override { return closer_.read(); }
  bool is_closing() const override { return state_ == State::kClose; }

 private:
  enum class State : uint8_t { kHead, kKey, kValue, kString, kClose };

  CallStep PushHead(Symbol symbol);
  CallStep PushKey(Symbol symbol);
  CallStep PushString(Symbol symbol);
  CallStep PushValue(Symbol symbol);
  CallStep PushPlain(Symbol symbol);
  CallStep PushClose(Symbol symbol);
  CallStep Open(char bracket);
  CallStep Close();

  CallContext context_;
  Literals head_;
  Literals quote_;
  Literals closer_;
  State state_ = State::kHead;
  std::string key_;
  std::string open_;  // brackets
};

CallStep GemmaCalls::Push(Symbol symbol) {
  switch (state_) {
    case State::kHead: return PushHead(symbol);
    case State::kKey: return PushKey(symbol);
    case State::kValue: return PushValue(symbol);
    case State::kString: return PushString(symbol);
    case State::kClose: return PushClose(symbol);
  }
  return CallStep::kFail;
}

CallStep GemmaCalls::PushHead(Symbol symbol) {
  const Literals::Match match = head_.Push(symbol);
  if (match == Literals::Match::kNo) return CallStep::kFail;
  if (match == Literals::Match::kPartial) return CallStep::kMore;
  context_.out.BeginCall(context_.tools.all()[head_.which()].name, {});
  return Open('{');
}

CallStep GemmaCalls::Open(char bracket) {
  if (open_.size() == grammar::kTextDepthMax) return CallStep::kFail;
  open_ += bracket;
  context_.out.Arguments({&bracket, 1});
  key_.clear();
  state_ = bracket == '{' ? State::kKey : State::kValue;
  return CallStep::kSettled;
}

CallStep GemmaCalls::Close() {
  context_.out.Arguments(open_.back() == '{' ? "}" : "]");
  open_.pop_back();
  state_ = State::kValue;
  if (!open_.empty()) return CallStep::kSettled;
  context_.out.EndCall();
  state_ = State::kClose;
  return CallStep::kSettled;
}

// A name without quotes, up to its colon.
CallStep GemmaCalls::PushKey(Symbol symbol) {
  if (key_.empty() && IsBlank(symbol)) return CallStep::kSettled;
  if (key_.empty() && symbol == '}') return Close();
  if (symbol == ':') {
    context_.out.Arguments(JsonString(key_) + ":");
    state_ = State::kValue;
    return CallStep::kSettled;
  }
  if (key_.size() == kMaxKeySymbols || IsMark(symbol)) return CallStep::kFail;
  key_ += static_cast<char>(symbol);
  return CallStep::kSettled;
}

CallStep GemmaCalls::PushValue(Symbol symbol) {
  switch (quote_.Push(symbol)) {
    case Literals::Match::kPartial: return CallStep::kSettled;
    case Literals::Match::kWhole:
      context_.out.Arguments("\"");
      quote_.Reset();
      state_ = State::kString;
      return CallStep::kSettled;
    case Literals::Match::kNo: break;
  }
  if (!quote_.read().empty()) return CallStep::kFail;
  return PushPlain(symbol);
}

// Outside of strings: numbers, words, brackets.
CallStep GemmaCalls::PushPlain(Symbol symbol) {
  if (IsMark(symbol)) return CallStep::kFail;
  const char byte = static_cast<char>(symbol);
  if (byte == '{' || byte == '[') return Open(byte);
  if (byte == '}' || byte == ']') return Close();
  context_.out.Arguments({&byte, 1});
  if (byte == ',' && open_.back() == '{') {
    key_.clear();
    state_ = State::kKey;
  }
  return CallStep::kSettled;
}

CallStep GemmaCalls::PushString(Symbol symbol) {
  std::string json;
  Literals::Match match = quote_.Push(symbol);
  if (match == Literals::Match::kNo) {
    // The first symbol of the quote stands nowhere else in it.
    for (const Symbol each : quote_.read()) AppendJsonByte(static_cast<char>(each), &json);
    quote_.Reset();
    match = quote_.Push(symbol);
    if (match == Literals::Match::kNo && !IsMark(symbol))
      AppendJsonByte(static_cast<char>(symbol), &json);
  }
  if (match == Literals::Match::kWhole) {
    json += '"';
    quote_.Reset();
    state_ = State::kValue;
  }
  context_.out.Arguments(json);
  return CallStep::kSettled;
}

CallStep GemmaCalls::PushClose(Symbol symbol) {
  switch (closer_.Push(symbol)) {
    case Literals::Match::kWhole: return CallStep::kDone;
    case Literals::Match::kPartial: return CallStep::kMore;
    case Literals::Match::kNo: break;
  }
  return closer_.read().empty() && IsBlank(symbol) ? CallStep::kMore : CallStep::kFail;
}

}  // namespace

std::unique_ptr<CallReader> ReadGemmaCalls(GemmaCallForm form, CallContext context) {
  return std::make_unique<GemmaCalls>(std::move(form), context);
}

}  // namespace skald::chat
