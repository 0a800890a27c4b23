#include "chat/answer/headed_calls.h"

#include <utility>

#include "chat/answer/json_scanner.h"
#include "chat/answer/literals.h"

namespace skald::chat {

namespace {

// Far above what models write.
constexpr size_t kMaxIdSymbols = 128;

class HeadedCalls final : public CallReader {
 public:
  HeadedCalls(HeadedCallForm form, HeadedCallStart start, CallContext context)
      : form_(std::move(form)),
        context_(context),
        next_({form_.call_open, form_.section_close}),
        closers_(form_.closers) {
    for (const ChatTool& tool : context_.tools.all()) AddName(tool.name);
    if (!form_.text_head.empty()) heads_.push_back({.text = form_.text_head, .is_text = true});
    std::vector<Symbols> texts;
    for (const Head& head : heads_) texts.push_back(head.text);
    head_ = Literals(std::move(texts));
    if (start.in_section)
      state_ = State::kNext;
    else
      BeginHead();
  }

  CallStep Push(Symbol symbol) override;
  void Finish() override {
    if (context_.out.in_call()) context_.out.EndCall();
  }
  const Symbols& unread() const override {
    return state_ == State::kClose ? closers_.read() : next_.read();
  }
  bool is_closing() const override {
    return state_ == State::kClose || (state_ == State::kNext && had_call_);
  }

 private:
  enum class State : uint8_t { kNext, kHead, kId, kBrace, kArguments, kClose };
  // A way to begin: prefix, name, and what ends the name.
  struct Head {
    Symbols text;
    std::string_view name = {};
    bool id_follows = false;
    bool is_text = false;
  };

  void AddName(const std::string& name);
  void BeginHead();
  CallStep PushNext(Symbol symbol);
  CallStep PushHead(Symbol symbol);
  CallStep PushId(Symbol symbol);
  CallStep PushBrace(Symbol symbol);
  CallStep PushArguments(Symbol symbol);
  CallStep PushClose(Symbol symbol);
  CallStep BehindCall();

  const HeadedCallForm form_;
  CallContext context_;
  Literals next_;
  Literals closers_;
  std::vector<Head> heads_;
  Literals head_;
  JsonScanner scanner_;
  State state_ = State::kHead;
  bool had_call_ = false;
  std::string_view name_;
  Symbols id_;
};

void HeadedCalls::AddName(const std::string& name) {
  for (const Symbols& prefix : {Symbols(), form_.prefix}) {
    Head head = {.text = prefix + SymbolsOf(name), .name = name};
    if (!form_.name_end_before_id.empty()) {
      Head with_id = head;
      with_id.text += form_.name_end_before_id;
      with_id.id_follows = true;
      heads_.push_back(std::move(with_id));
    }
    head.text += form_.name_end;
    head.id_follows = !form_.head_end.empty();
    heads_.push_back(std::move(head));
    if (form_.prefix.empty()) return;
  }
}

void HeadedCalls::BeginHead() {
  head_.Reset();
  id_.clear();
  state_ = State::kHead;
}

CallStep HeadedCalls::Push(Symbol symbol) {
  switch (state_) {
    case State::kNext: return PushNext(symbol);
    case State::kHead: return PushHead(symbol);
    case State::kId: return PushId(symbol);
    case State::kBrace: return PushBrace(symbol);
    case State::kArguments: return PushArguments(symbol);
    case State::kClose: return PushClose(symbol);
  }
  return CallStep::kFail;
}

CallStep HeadedCalls::PushNext(Symbol symbol) {
  switch (next_.Push(symbol)) {
    case Literals::Match::kPartial: return CallStep::kMore;
    case Literals::Match::kNo:
      return next_.read().empty() && IsBlank(symbol) ? CallStep::kMore : CallStep::kFail;
    case Literals::Match::kWhole: break;
  }
  const bool is_call = next_.which() == 0;
  next_.Reset();
  if (!is_call) return had_call_ ? CallStep::kDone : CallStep::kNoCall;
  BeginHead();
  return CallStep::kMore;
}

CallStep HeadedCalls::PushHead(Symbol symbol) {
  const Literals::Match match = head_.Push(symbol);
  if (match == Literals::Match::kNo) return CallStep::kFail;
  if (match == Literals::Match::kPartial) return CallStep::kMore;
  const Head& head = heads_[head_.which()];
  if (head.is_text) return CallStep::kNoCall;
  name_ = head.name;
  state_ = head.id_follows ? State::kId : State::kBrace;
  if (!form_.head_end.empty()) id_ = head.text;
  return CallStep::kMore;
}

CallStep HeadedCalls::PushId(Symbol symbol) {
  const Symbols& end = form_.head_end.empty() ? form_.name_end : form_.head_end;
  if (id_.size() == kMaxIdSymbols + end.size()) return CallStep::kFail;
  id_ += symbol;
  if (!id_.ends_with(end)) return CallStep::kMore;
  id_.resize(id_.size() - end.size());
  state_ = State::kBrace;
  return CallStep::kMore;
}

CallStep HeadedCalls::PushBrace(Symbol symbol) {
  if (IsBlank(symbol)) return CallStep::kMore;
  if (symbol != '{') return CallStep::kFail;
  context_.out.BeginCall(name_, BytesOf(id_));
  had_call_ = true;
  scanner_ = {};
  state_ = State::kArguments;
  return PushArguments(symbol);
}

CallStep HeadedCalls::PushArguments(Symbol symbol) {
  if (!IsMark(symbol)) {
    const char byte = static_cast<char>(symbol);
    context_.out.Arguments({&byte, 1});
  }
  if (!scanner_.Push(symbol)) return CallStep::kSettled;
  context_.out.EndCall();
  if (form_.closers.empty()) return BehindCall();
  closers_.Reset();
  state_ = State::kClose;
  return CallStep::kSettled;
}

CallStep HeadedCalls::PushClose(Symbol symbol) {
  switch (closers_.Push(symbol)) {
    case Literals::Match::kWhole: return BehindCall();
    case Literals::Match::kPartial: return CallStep::kMore;
    case Literals::Match::kNo: break;
  }
  return closers_.read().empty() && IsBlank(symbol) ? CallStep::kMore : CallStep::kFail;
}

CallStep HeadedCalls::BehindCall() {
  if (form_.section_close.empty()) return CallStep::kDone;
  next_.Reset();
  state_ = State::kNext;
  return CallStep::kSettled;
}

}  // namespace

std::unique_ptr<CallReader> ReadHeadedCalls(HeadedCallForm form, HeadedCallStart start,
                                            CallContext context) {
  return std::make_unique<HeadedCalls>(std::move(form), start, context);
}

}  // namespace skald::chat
