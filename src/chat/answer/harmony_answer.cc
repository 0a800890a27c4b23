// OpenAI's Harmony: an answer is a row of messages, each with a header that says for whom it is.
// Source: the format's description in the repository openai/harmony.
#include <optional>
#include <utility>

#include "chat/answer/answer_sections.h"
#include "chat/answer/marker_scanner.h"

namespace skald::chat {

namespace {

constexpr std::string_view kNames[] = {"<|start|>", "<|message|>", "<|channel|>",  "<|end|>",
                                       "<|call|>",  "<|return|>",  "<|constrain|>"};
enum Marker : size_t { kStart, kMessage, kChannel, kEnd, kCall, kReturn, kConstrain };

constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kFunctions = "functions.";
// "assistant", a recipient, a channel, a type. Far above what models write.
constexpr size_t kMaxHeaderBytes = 512;

// The word behind `name` in a header; empty if there is none.
std::string_view WordBehind(std::string_view header, std::string_view name) {
  const size_t at = header.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = header.substr(at + name.size());
  return rest.substr(0, rest.find_first_of(" <\n"));
}

class HarmonyAnswer final : public AnswerSections {
 public:
  explicit HarmonyAnswer(const SectionsContext& context)
      : context_(context), scanner_(Markers(context.form)) {}

  void Push(Symbol symbol) override {
    const auto marker = scanner_.Push(
        symbol, [](size_t) { return true; }, [this](Symbol text) { Take(text); });
    if (marker) OnMarker(*marker);
  }
  void Finish(AnswerEnd end) override;

 private:
  // What the body of a message is.
  enum class Place : uint8_t { kHeader, kReasoning, kText, kCall, kBetween };

  static std::vector<Symbols> Markers(const SpelledForm& form) {
    std::vector<Symbols> markers;
    for (const std::string_view name : kNames) markers.push_back(form.Spell(name));
    return markers;
  }

  void OnMarker(size_t marker);
  void Take(Symbol symbol);
  void TakeReasoning(char byte);
  void BeginBody();
  void EndBody();
  void HeaderIsText();

  SectionsContext context_;
  MarkerScanner scanner_;
  Place place_ = Place::kHeader;  // the prompt ends with "<|start|>assistant"
  std::string header_;            // its markers by their names
  std::string blanks_;            // of reasoning: dropped at its end
  bool had_text_ = false;
  bool had_reasoning_ = false;
  bool is_first_ = true;  // no byte of this body has come
};

// Markers stand in a header by their names: a name that is spelled as text has no meaning there.
void HarmonyAnswer::OnMarker(size_t marker) {
  switch (marker) {
    case kMessage:
      if (place_ == Place::kHeader) BeginBody();
      return;
    case kChannel:
    case kConstrain:
      if (place_ != Place::kHeader) {
        EndBody();
        place_ = Place::kHeader;
      }
      header_ += kNames[marker];
      return;
    case kStart:
      EndBody();
      place_ = Place::kHeader;
      return;
    default: EndBody(); return;
  }
}

void HarmonyAnswer::BeginBody() {
  const std::string header = std::exchange(header_, {});
  const std::string_view channel = WordBehind(header, kNames[kChannel]);
  std::string_view recipient = WordBehind(header, kRecipient);
  is_first_ = true;
  if (recipient.starts_with(kFunctions)) recipient.remove_prefix(kFunctions.size());
  if (!recipient.empty() && context_.tools.Find(recipient) != nullptr) {
    context_.out.BeginCall(recipient, {});
    place_ = Place::kCall;
  } else {
    place_ = channel == "analysis" && context_.options.split_reasoning ? Place::kReasoning
                                                                       : Place::kText;
  }
}

void HarmonyAnswer::EndBody() {
  if (place_ == Place::kHeader) HeaderIsText();
  if (place_ == Place::kCall) {
    if (is_first_) context_.out.Arguments("{}");
    context_.out.EndCall();
  }
  blanks_.clear();
  place_ = Place::kBetween;
}

// Something else than a header came: a model that does not keep to the format.
void HarmonyAnswer::HeaderIsText() {
  const size_t marker = header_.find("<|");
  context_.out.Text(std::string_view(header_).substr(0, marker));
  header_.clear();
}

void HarmonyAnswer::Take(Symbol symbol) {
  if (IsMark(symbol)) return;
  const char byte = static_cast<char>(symbol);
  switch (place_) {
    case Place::kHeader:
      header_ += byte;
      if (header_.size() <= kMaxHeaderBytes) return;
      HeaderIsText();
      place_ = Place::kText;
      return;
    case Place::kReasoning: return TakeReasoning(byte);
    case Place::kBetween:
      if (IsBlank(symbol)) return;
      place_ = Place::kText;
      [[fallthrough]];
    case Place::kText:
      // Messages of a kind are lines of one text.
      if (std::exchange(is_first_, false) && std::exchange(had_text_, true))
        context_.out.Text("\n");
      return context_.out.Text({&byte, 1});
    case Place::kCall: is_first_ = false; return context_.out.Arguments({&byte, 1});
  }
}

void HarmonyAnswer::TakeReasoning(char byte) {
  if (IsBlank(static_cast<unsigned char>(byte))) {
    if (!is_first_) blanks_ += byte;
    return;
  }
  if (std::exchange(is_first_, false) && std::exchange(had_reasoning_, true))
    context_.out.Reasoning("\n");
  context_.out.Reasoning(std::exchange(blanks_, {}));
  context_.out.Reasoning({&byte, 1});
}

void HarmonyAnswer::Finish(AnswerEnd end) {
  for (const Symbol symbol : scanner_.Take()) Take(symbol);
  if (place_ == Place::kHeader && end == AnswerEnd::kLength && header_.starts_with("<|"))
    header_.clear();
  if (place_ == Place::kCall && end == AnswerEnd::kLength) {
    context_.out.EndCall();
    place_ = Place::kBetween;
  }
  EndBody();
}

}  // namespace

std::span<const std::string_view> HarmonyMarkerNames() { return kNames; }

std::unique_ptr<AnswerSections> ReadHarmonyAnswer(const SectionsContext& context) {
  return std::make_unique<HarmonyAnswer>(context);
}

}  // namespace skald::chat
