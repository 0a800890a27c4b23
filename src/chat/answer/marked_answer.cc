// Text with markers in it: reasoning at the beginning, then text and calls.
#include <algorithm>
#include <utility>

#include "chat/answer/answer_sections.h"
#include "chat/answer/marker_scanner.h"

namespace skald::chat {

namespace {

enum class MarkerKind : uint8_t { kThought, kThoughtEnd, kSection, kCall, kBareObject, kSkip };

class MarkedAnswer final : public AnswerSections {
 public:
  explicit MarkedAnswer(const SectionsContext& context);

  void Push(Symbol symbol) override { call_ ? PushCall(symbol) : PushText(symbol); }
  void Finish(AnswerEnd end) override;

 private:
  enum class Place : uint8_t { kStart, kThought, kText };

  bool IsActive(size_t marker) const;
  bool HoldsBlanks() const;
  void PushText(Symbol symbol);
  void TakeText(Symbol symbol);
  void Put(const Symbols& symbols);
  void OnMarker(size_t marker);
  void BeginCall(CallOpener opener, Symbols read);
  void PushCall(Symbol symbol);
  void EndCall();
  void GiveUpCall(Symbol symbol);
  void FinishCall(AnswerEnd end);

  SectionsContext context_;
  std::vector<MarkerKind> kinds_;  // of the scanner's markers
  MarkerScanner scanner_;
  Place place_ = Place::kStart;
  // White space that a marker may follow. Nothing yet of a section that drops it in front: the
  // reasoning, and the text behind it.
  Symbols blanks_;
  bool drops_blanks_ = false;
  std::unique_ptr<CallReader> call_;
  CallOpener opener_ = CallOpener::kCall;
  Symbols raw_;  // read by call_, and text if it is no call
};

MarkedAnswer::MarkedAnswer(const SectionsContext& context) : context_(context), scanner_({}) {
  const AnswerForm& form = context_.form.form();
  std::vector<Symbols> markers;
  const auto add = [&](MarkerKind kind, std::string_view text) {
    if (text.empty()) return;
    kinds_.push_back(kind);
    markers.push_back(context_.form.Spell(text));
  };
  if (context_.options.split_reasoning) {
    add(MarkerKind::kThought, context_.form.reasoning().open);
    add(MarkerKind::kThoughtEnd, context_.form.reasoning().close);
  }
  if (!context_.tools.empty() || !form.text_head.empty()) {
    add(MarkerKind::kSection, form.section_open);
    add(MarkerKind::kCall, form.call_open);
    if (form.bare_object) add(MarkerKind::kBareObject, "{");
  }
  for (const std::string_view skip : form.skips) add(MarkerKind::kSkip, skip);
  scanner_ = MarkerScanner(std::move(markers));
  if (context_.options.split_reasoning && context_.options.in_reasoning) {
    place_ = Place::kThought;
    drops_blanks_ = true;
  } else if (form.starts_in_head) {
    BeginCall(CallOpener::kCall, {});
  }
}

// A control token means the same wherever it stands; what is spelled as text opens the reasoning at
// the beginning only, where it is repeated if the prompt has it already.
bool MarkedAnswer::IsActive(size_t marker) const {
  const MarkerKind kind = kinds_[marker];
  if (place_ == Place::kThought)
    return kind == MarkerKind::kThoughtEnd || (kind == MarkerKind::kThought && drops_blanks_);
  switch (kind) {
    case MarkerKind::kThought:
      return place_ == Place::kStart || IsMark(scanner_.marker(marker).front());
    case MarkerKind::kThoughtEnd: return false;
    case MarkerKind::kBareObject: return place_ == Place::kStart || drops_blanks_;
    case MarkerKind::kSection:
    case MarkerKind::kCall:
    case MarkerKind::kSkip: return true;
  }
  return false;
}

bool MarkedAnswer::HoldsBlanks() const {
  for (size_t i = 0; i < kinds_.size(); ++i)
    if (IsActive(i)) return true;
  return false;
}

void MarkedAnswer::PushText(Symbol symbol) {
  const auto marker = scanner_.Push(
      symbol, [this](size_t index) { return IsActive(index); },
      [this](Symbol text) { TakeText(text); });
  if (marker) OnMarker(*marker);
}

void MarkedAnswer::TakeText(Symbol symbol) {
  if (IsMark(symbol)) return;
  if (IsBlank(symbol)) {
    if (!drops_blanks_) blanks_ += symbol;
    if (!HoldsBlanks()) Put(std::exchange(blanks_, {}));
    return;
  }
  drops_blanks_ = false;
  if (place_ == Place::kStart) place_ = Place::kText;
  Put(std::exchange(blanks_, {}) + symbol);
}

void MarkedAnswer::Put(const Symbols& symbols) {
  if (place_ == Place::kThought)
    context_.out.Reasoning(BytesOf(symbols));
  else
    context_.out.Text(BytesOf(symbols));
}

void MarkedAnswer::OnMarker(size_t marker) {
  Symbols blanks = std::exchange(blanks_, {});
  switch (kinds_[marker]) {
    case MarkerKind::kThought:
      place_ = Place::kThought;
      drops_blanks_ = true;
      return;
    case MarkerKind::kThoughtEnd:
      place_ = Place::kText;
      drops_blanks_ = true;
      return;
    case MarkerKind::kSection:
      return BeginCall(CallOpener::kSection, blanks + scanner_.marker(marker));
    case MarkerKind::kCall: return BeginCall(CallOpener::kCall, blanks + scanner_.marker(marker));
    case MarkerKind::kBareObject:
      BeginCall(CallOpener::kBareObject, std::move(blanks));
      return PushCall(u'{');
    case MarkerKind::kSkip: return;
  }
}

void MarkedAnswer::BeginCall(CallOpener opener, Symbols read) {
  opener_ = opener;
  raw_ = std::move(read);
  call_ = MakeCallReader(context_, opener);
}

void MarkedAnswer::PushCall(Symbol symbol) {
  switch (call_->Push(symbol)) {
    case CallStep::kMore: raw_ += symbol; return;
    case CallStep::kSettled: drops_blanks_ = false; return raw_.clear();
    case CallStep::kDone:
    case CallStep::kNoCall: return EndCall();
    case CallStep::kFail: return GiveUpCall(symbol);
  }
}

void MarkedAnswer::EndCall() {
  if (context_.out.in_call()) context_.out.EndCall();
  call_.reset();
  raw_.clear();
  place_ = Place::kText;
  drops_blanks_ = false;
}

// What has been read is text, but for its end, which may be the beginning of a marker: no longer
// than the longest one, so that all is read twice at most.
void MarkedAnswer::GiveUpCall(Symbol symbol) {
  const Symbols unread = call_->unread();
  Symbols text = std::move(raw_);
  text.resize(text.size() - std::min(text.size(), unread.size()));
  const bool drops_blanks = drops_blanks_;
  EndCall();
  drops_blanks_ = drops_blanks;
  for (const Symbol each : text) TakeText(each);
  for (const Symbol each : unread) Push(each);
  Push(symbol);
}

void MarkedAnswer::FinishCall(AnswerEnd end) {
  const int32_t before = context_.out.call_count();
  const bool had_begun = context_.out.in_call();
  const bool is_closing = call_->is_closing();
  call_->Finish();
  const bool is_call = had_begun || is_closing || context_.out.call_count() != before;
  // Cut inside of its head a call is no text; what had no marker may be anything.
  const bool is_cut = end == AnswerEnd::kLength && opener_ != CallOpener::kBareObject;
  const Symbols text = is_call || is_cut ? Symbols() : std::move(raw_);
  EndCall();
  for (const Symbol each : text) TakeText(each);
}

void MarkedAnswer::Finish(AnswerEnd end) {
  if (call_) FinishCall(end);
  for (const Symbol each : scanner_.Take()) TakeText(each);
  if (place_ != Place::kThought) Put(blanks_);
}

}  // namespace

std::unique_ptr<AnswerSections> ReadMarkedAnswer(const SectionsContext& context) {
  return std::make_unique<MarkedAnswer>(context);
}

}  // namespace skald::chat
