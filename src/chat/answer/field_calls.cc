#include "chat/answer/field_calls.h"

#include <algorithm>
#include <utility>

#include "chat/answer/json_text.h"
#include "chat/answer/literals.h"

namespace skald::chat {

namespace {

constexpr size_t kMaxKeySymbols = 1024;

// A value up to its closer: strings pass as they come, but for what may be the end of them.
class FieldValue {
 public:
  FieldValue(const Symbols& closer, bool trims) : closer_({closer}), trims_(trims) {}

  void Begin(ChatTool::Kind kind) {
    kind_ = kind;
    text_.clear();
    held_newline_ = false;
    at_start_ = true;
    closer_.Reset();
  }
  // True if the value is complete. `json`: what is certain of it.
  bool Push(Symbol symbol, std::string* json) {
    if (at_start_ && streams()) *json += '"';
    const bool is_first = std::exchange(at_start_, false);
    if (trims_ && is_first && symbol == '\n') return false;
    Literals::Match match = closer_.Push(symbol);
    if (match == Literals::Match::kNo) {
      // The first symbol of a closer stands nowhere else in it: none begins inside of what was
      // read.
      for (const Symbol each : closer_.read()) Take(each, json);
      closer_.Reset();
      match = closer_.Push(symbol);
      if (match == Literals::Match::kNo) Take(symbol, json);
    }
    if (match == Literals::Match::kWhole) *json += streams() ? "\"" : JsonOfBareValue(text_, kind_);
    return match == Literals::Match::kWhole;
  }

 private:
  bool streams() const { return kind_ == ChatTool::Kind::kString; }
  void Take(Symbol symbol, std::string* json) {
    if (IsMark(symbol)) return;
    if (std::exchange(held_newline_, trims_ && symbol == '\n')) TakeByte('\n', json);
    if (!held_newline_) TakeByte(static_cast<char>(symbol), json);
  }
  void TakeByte(char byte, std::string* json) {
    if (streams())
      AppendJsonByte(byte, json);
    else
      text_ += byte;
  }

  Literals closer_;
  const bool trims_;
  ChatTool::Kind kind_ = ChatTool::Kind::kAny;
  std::string text_;
  bool held_newline_ = false;
  bool at_start_ = true;
};

class FieldCalls final : public CallReader {
 public:
  FieldCalls(FieldCallForm form, CallContext context);

  CallStep Push(Symbol symbol) override;
  void Finish() override {
    if (context_.out.in_call()) context_.out.EndCall();
  }
  const Symbols& unread() const override { return unread_; }
  bool is_closing() const override { return state_ == State::kNext && had_call_; }

 private:
  enum class State : uint8_t { kNext, kName, kFields, kKey, kValueOpen, kValue };

  void AddNames();
  CallStep PushNext(Symbol symbol);
  CallStep PushName(Symbol symbol);
  CallStep PushField(Symbol symbol);
  CallStep PushKey(Symbol symbol);
  CallStep PushValueOpen(Symbol symbol);
  CallStep PushValue(Symbol symbol);
  CallStep BeginKey();
  CallStep EndKey(bool is_string);
  CallStep EndCall();
  CallStep Fail(const Literals& literals);
  ChatTool::Kind KindOfKey() const;

  // A name, and what ended it.
  struct Name {
    const ChatTool* tool;
    State next;
    bool ends_call = false;
  };

  const FieldCallForm form_;
  CallContext context_;
  Literals next_;
  Literals name_;
  Literals field_;
  Literals value_open_;
  FieldValue value_;
  std::vector<Name> names_;
  State state_;
  bool had_call_ = false;
  const ChatTool* tool_ = nullptr;
  Symbols key_;
  bool says_string_ = false;
  bool has_fields_ = false;
  Symbols unread_;
};

FieldCalls::FieldCalls(FieldCallForm form, CallContext context)
    : form_(std::move(form)),
      context_(context),
      next_({form_.call_open.empty() ? form_.section_close : form_.call_open, form_.section_close}),
      field_({form_.key_open, form_.call_close}),
      value_open_({form_.value_open}),
      value_(form_.value_close, form_.trims_newlines),
      state_(form_.call_open.empty() ? State::kName : State::kNext) {
  AddNames();
}

void FieldCalls::AddNames() {
  std::vector<Symbols> texts;
  const auto add = [&](const ChatTool& tool, const Symbols& end, Name name) {
    texts.push_back(SymbolsOf(tool.name) + end);
    names_.push_back(name);
  };
  for (const ChatTool& tool : context_.tools.all()) {
    if (!form_.name_end.empty()) {
      add(tool, form_.name_end, {&tool, State::kFields});
      continue;
    }
    add(tool, u"\n", {&tool, State::kFields});
    add(tool, form_.key_open, {&tool, State::kKey});
    add(tool, form_.call_close, {.tool = &tool, .next = State::kNext, .ends_call = true});
  }
  name_ = Literals(std::move(texts));
}

CallStep FieldCalls::Push(Symbol symbol) {
  switch (state_) {
    case State::kNext: return PushNext(symbol);
    case State::kName: return PushName(symbol);
    case State::kFields: return PushField(symbol);
    case State::kKey: return PushKey(symbol);
    case State::kValueOpen: return PushValueOpen(symbol);
    case State::kValue: return PushValue(symbol);
  }
  return CallStep::kFail;
}

// What has been read of a marker may be the beginning of another one. A call that has begun is
// ended: its arguments are JSON.
CallStep FieldCalls::Fail(const Literals& literals) {
  unread_ = literals.read();
  if (context_.out.in_call()) context_.out.Arguments("}");
  return CallStep::kFail;
}

CallStep FieldCalls::PushNext(Symbol symbol) {
  switch (next_.Push(symbol)) {
    case Literals::Match::kPartial: return CallStep::kMore;
    case Literals::Match::kNo:
      return next_.read().empty() && IsBlank(symbol) ? CallStep::kMore : Fail(next_);
    case Literals::Match::kWhole: break;
  }
  const bool is_call = !form_.call_open.empty() && next_.read() == form_.call_open;
  next_.Reset();
  name_.Reset();
  if (!is_call) return had_call_ ? CallStep::kDone : CallStep::kNoCall;
  state_ = State::kName;
  return CallStep::kMore;
}

CallStep FieldCalls::PushName(Symbol symbol) {
  switch (name_.Push(symbol)) {
    case Literals::Match::kPartial: return CallStep::kMore;
    case Literals::Match::kNo:
      return name_.read().empty() && IsBlank(symbol) ? CallStep::kMore : Fail(name_);
    case Literals::Match::kWhole: break;
  }
  const Name& name = names_[name_.which()];
  tool_ = name.tool;
  had_call_ = true;
  has_fields_ = false;
  context_.out.BeginCall(tool_->name, {});
  context_.out.Arguments("{");
  field_.Reset();
  if (name.ends_call) return EndCall();
  state_ = name.next;
  return name.next == State::kKey ? BeginKey() : CallStep::kSettled;
}

CallStep FieldCalls::PushField(Symbol symbol) {
  switch (field_.Push(symbol)) {
    case Literals::Match::kPartial: return CallStep::kSettled;
    case Literals::Match::kNo:
      return field_.read().empty() && IsBlank(symbol) ? CallStep::kSettled : Fail(field_);
    case Literals::Match::kWhole: break;
  }
  const bool is_key = field_.which() == 0;
  field_.Reset();
  return is_key ? BeginKey() : EndCall();
}

CallStep FieldCalls::BeginKey() {
  key_.clear();
  state_ = State::kKey;
  return CallStep::kSettled;
}

CallStep FieldCalls::PushKey(Symbol symbol) {
  if (key_.size() == kMaxKeySymbols) return Fail({});
  key_ += symbol;
  if (key_.ends_with(form_.key_end)) return EndKey(false);
  if (!form_.string_key_end.empty() && key_.ends_with(form_.string_key_end)) return EndKey(true);
  return CallStep::kSettled;
}

CallStep FieldCalls::EndKey(bool is_string) {
  key_.resize(key_.size() - (is_string ? form_.string_key_end : form_.key_end).size());
  says_string_ = is_string;
  context_.out.Arguments(has_fields_ ? "," : "");
  has_fields_ = true;
  context_.out.Arguments(JsonString(BytesOf(key_)) + ":");
  value_.Begin(KindOfKey());
  value_open_.Reset();
  state_ = form_.value_open.empty() ? State::kValue : State::kValueOpen;
  return CallStep::kSettled;
}

ChatTool::Kind FieldCalls::KindOfKey() const {
  if (!form_.string_key_end.empty())
    return says_string_ ? ChatTool::Kind::kString : ChatTool::Kind::kValue;
  const std::string key = BytesOf(key_);
  const auto found = std::find_if(tool_->parameters.begin(), tool_->parameters.end(),
                                  [&](const auto& each) { return each.name == key; });
  return found == tool_->parameters.end() ? ChatTool::Kind::kAny : found->kind;
}

CallStep FieldCalls::PushValueOpen(Symbol symbol) {
  switch (value_open_.Push(symbol)) {
    case Literals::Match::kWhole: state_ = State::kValue; return CallStep::kSettled;
    case Literals::Match::kPartial: return CallStep::kSettled;
    case Literals::Match::kNo: break;
  }
  if (value_open_.read().empty() && IsBlank(symbol)) return CallStep::kSettled;
  context_.out.Arguments("null");  // the key has been told
  return Fail(value_open_);
}

CallStep FieldCalls::PushValue(Symbol symbol) {
  std::string json;
  if (value_.Push(symbol, &json)) state_ = State::kFields;
  context_.out.Arguments(json);
  return CallStep::kSettled;
}

CallStep FieldCalls::EndCall() {
  context_.out.Arguments("}");
  context_.out.EndCall();
  next_.Reset();
  if (form_.section_close.empty()) return CallStep::kDone;
  state_ = State::kNext;
  return CallStep::kSettled;
}

}  // namespace

std::unique_ptr<CallReader> ReadFieldCalls(FieldCallForm form, CallContext context) {
  return std::make_unique<FieldCalls>(std::move(form), context);
}

}  // namespace skald::chat
