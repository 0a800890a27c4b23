#include "chat/answer/json_calls.h"

#include <utility>

#include "chat/answer/json_scanner.h"
#include "chat/answer/literals.h"

namespace skald::chat {

namespace {

// Keys, and ids in them: far above what models write.
constexpr size_t kMaxWordSymbols = 256;

class JsonCalls final : public CallReader {
 public:
  JsonCalls(JsonCallForm form, CallContext context)
      : form_(std::move(form)), context_(context), closers_(form_.closers) {}

  CallStep Push(Symbol symbol) override;
  void Finish() override;
  const Symbols& unread() const override { return closers_.read(); }
  bool is_closing() const override { return state_ == State::kClose; }

 private:
  enum class State : uint8_t {
    kObject,  // "{", or "[" before the first one
    kKey,     // a quote
    kInKey,
    kColon,
    kValue,  // its first symbol
    kWord,   // inside a name or an id
    kArguments,
    kOtherText,  // inside a string, list or object that is passed over
    kOtherWord,  // inside a number, true, false or null
    kBehindValue,
    kBehindObject,  // of a list
    kClose,
  };

  CallStep PushStructure(Symbol symbol);
  CallStep BeginObject(Symbol symbol);
  CallStep BeginValue(Symbol symbol);
  CallStep BeginArguments(Symbol symbol);
  CallStep PushWord(Symbol symbol);
  CallStep PushArguments(Symbol symbol);
  CallStep PushOtherWord(Symbol symbol);
  CallStep BehindValue(Symbol symbol);
  CallStep EndObject();
  CallStep Close(Symbol symbol);
  CallStep GoOn(State state) {
    state_ = state;
    return context_.out.in_call() ? CallStep::kSettled : CallStep::kMore;
  }
  // Tells of the call, if all is known that its first piece needs.
  void BeginIfSure();

  const JsonCallForm form_;
  CallContext context_;
  Literals closers_;
  JsonScanner scanner_;
  State state_ = State::kObject;
  bool is_list_ = false;
  Symbols key_;
  Symbols word_;
  // Of the object that is being read.
  std::string name_;
  std::string id_;
  std::string held_;  // arguments that wait for the name or the id
  bool has_arguments_ = false;
};

CallStep JsonCalls::Push(Symbol symbol) {
  switch (state_) {
    case State::kInKey:
    case State::kWord: return PushWord(symbol);
    case State::kArguments: return PushArguments(symbol);
    case State::kOtherText:
      return GoOn(scanner_.Push(symbol) ? State::kBehindValue : State::kOtherText);
    case State::kOtherWord: return PushOtherWord(symbol);
    case State::kClose: return Close(symbol);
    default: break;
  }
  if (IsBlank(symbol)) return GoOn(state_);
  return IsMark(symbol) ? CallStep::kFail : PushStructure(symbol);
}

CallStep JsonCalls::PushStructure(Symbol symbol) {
  switch (state_) {
    case State::kObject: return BeginObject(symbol);
    case State::kKey:
      if (symbol == '}') return EndObject();  // no members, or a comma too many
      key_.clear();
      return symbol == '"' ? GoOn(State::kInKey) : CallStep::kFail;
    case State::kColon: return symbol == ':' ? GoOn(State::kValue) : CallStep::kFail;
    case State::kValue: return BeginValue(symbol);
    case State::kBehindValue: return BehindValue(symbol);
    case State::kBehindObject:
      if (symbol == ',') return GoOn(State::kObject);
      if (symbol != ']') return CallStep::kFail;
      state_ = State::kClose;
      return closers_.empty() ? CallStep::kDone : CallStep::kSettled;
    default: return CallStep::kFail;
  }
}

CallStep JsonCalls::BeginObject(Symbol symbol) {
  if (symbol == '[' && !is_list_) {
    is_list_ = true;
    return GoOn(State::kObject);
  }
  if (symbol != '{') return CallStep::kFail;
  name_.clear();
  id_.clear();
  held_.clear();
  has_arguments_ = false;
  return GoOn(State::kKey);
}

// Inside a key, a name or an id. Escapes in them are read by nobody: such a word is no name.
CallStep JsonCalls::PushWord(Symbol symbol) {
  Symbols& word = state_ == State::kInKey ? key_ : word_;
  if (symbol == '"' && state_ == State::kInKey) return GoOn(State::kColon);
  if (symbol != '"') {
    if (word.size() == kMaxWordSymbols || symbol < ' ' || IsMark(symbol)) return CallStep::kFail;
    word += symbol;
    return GoOn(state_);
  }
  const bool is_name = key_ == u"name" || key_ == u"tool_name";
  (is_name ? name_ : id_) = BytesOf(word);
  word.clear();
  if (is_name && context_.tools.Find(name_) == nullptr) return CallStep::kFail;
  BeginIfSure();
  return GoOn(State::kBehindValue);
}

CallStep JsonCalls::BeginValue(Symbol symbol) {
  if (key_ == u"arguments" || key_ == u"parameters") return BeginArguments(symbol);
  const bool is_name = key_ == u"name" || key_ == u"tool_name";
  const bool is_id = key_ == u"id" || key_ == u"tool_call_id";
  if (is_name || (is_id && symbol == '"')) {
    const bool again = is_name ? !name_.empty() : !id_.empty();
    return symbol == '"' && !again ? GoOn(State::kWord) : CallStep::kFail;
  }
  if (symbol == '"' || symbol == '{' || symbol == '[') {
    scanner_ = {};
    scanner_.Push(symbol);
    return GoOn(State::kOtherText);
  }
  const bool is_word =
      (symbol >= '0' && symbol <= '9') || (symbol >= 'a' && symbol <= 'z') || symbol == '-';
  return is_word ? GoOn(State::kOtherWord) : CallStep::kFail;
}

CallStep JsonCalls::BeginArguments(Symbol symbol) {
  if (symbol != '{' || has_arguments_) return CallStep::kFail;
  has_arguments_ = true;
  scanner_ = {};
  state_ = State::kArguments;
  BeginIfSure();
  return PushArguments(symbol);
}

void JsonCalls::BeginIfSure() {
  const bool sure = has_arguments_ && !name_.empty() && (!form_.id_behind || !id_.empty());
  if (!sure || context_.out.in_call()) return;
  context_.out.BeginCall(name_, id_);
  context_.out.Arguments(held_);
  held_.clear();
}

CallStep JsonCalls::PushArguments(Symbol symbol) {
  if (!IsMark(symbol)) {
    const char byte = static_cast<char>(symbol);
    if (context_.out.in_call())
      context_.out.Arguments({&byte, 1});
    else
      held_ += byte;
  }
  return GoOn(scanner_.Push(symbol) ? State::kBehindValue : State::kArguments);
}

CallStep JsonCalls::PushOtherWord(Symbol symbol) {
  if (symbol == ',' || symbol == '}' || IsBlank(symbol)) {
    state_ = State::kBehindValue;
    return Push(symbol);
  }
  return symbol == '"' || IsMark(symbol) ? CallStep::kFail : GoOn(State::kOtherWord);
}

CallStep JsonCalls::BehindValue(Symbol symbol) {
  if (symbol == ',') return GoOn(State::kKey);
  return symbol == '}' ? EndObject() : CallStep::kFail;
}

CallStep JsonCalls::EndObject() {
  if (!context_.out.in_call()) {
    if (name_.empty() || (form_.needs_arguments && !has_arguments_)) return CallStep::kFail;
    context_.out.BeginCall(name_, id_);
    context_.out.Arguments(has_arguments_ ? held_ : "{}");
  }
  context_.out.EndCall();
  state_ = is_list_ ? State::kBehindObject : State::kClose;
  return !is_list_ && closers_.empty() ? CallStep::kDone : CallStep::kSettled;
}

CallStep JsonCalls::Close(Symbol symbol) {
  switch (closers_.Push(symbol)) {
    case Literals::Match::kWhole: return CallStep::kDone;
    case Literals::Match::kPartial: return CallStep::kMore;
    case Literals::Match::kNo: break;
  }
  return closers_.read().empty() && IsBlank(symbol) ? CallStep::kMore : CallStep::kFail;
}

void JsonCalls::Finish() {
  // A call whose id was still to come is as good as one that the model gave none.
  if (!context_.out.in_call() && has_arguments_ && !name_.empty() &&
      (state_ == State::kArguments || state_ == State::kBehindValue)) {
    context_.out.BeginCall(name_, id_);
    context_.out.Arguments(held_);
  }
  if (context_.out.in_call()) context_.out.EndCall();
}

}  // namespace

std::unique_ptr<CallReader> ReadJsonCalls(JsonCallForm form, CallContext context) {
  return std::make_unique<JsonCalls>(std::move(form), context);
}

}  // namespace skald::chat
