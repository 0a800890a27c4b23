#include "skald/chat_answer.h"

#include <algorithm>
#include <utility>

#include "chat/answer/answer_sections.h"
#include "chat/answer/format_state.h"

namespace skald {

using chat::AnswerForm;
using chat::CallSyntax;
using chat::ReasoningForm;
using chat::Symbol;

namespace {

// Of what is in no row.
constexpr AnswerForm kNoForm = {};
constexpr ReasoningForm kNoReasoning = {};

bool Has(std::string_view source, std::string_view needle) {
  return source.find(needle) != std::string_view::npos;
}

const AnswerForm& FormOf(std::string_view source) {
  for (const AnswerForm& form : chat::AnswerForms()) {
    if (std::all_of(std::begin(form.needles), std::end(form.needles),
                    [&](std::string_view needle) { return Has(source, needle); }))
      return form;
  }
  return kNoForm;
}

const ReasoningForm& ReasoningOf(std::string_view source) {
  for (const ReasoningForm& form : chat::ReasoningForms())
    if (Has(source, form.open) && Has(source, form.close)) return form;
  return kNoReasoning;
}

bool IsHarmonyMarker(std::string_view name) {
  const auto names = chat::HarmonyMarkerNames();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether a token of this name is a marker of the formats, or a part of one.
bool IsMarker(const AnswerForm& form, const ReasoningForm& reasoning, std::string_view name) {
  const auto any = [&](auto... texts) { return (Has(texts, name) || ...); };
  return any(form.section_open, form.call_open, form.prefix, form.name_end, form.name_end_before_id,
             form.head_end, form.key_open, form.key_end, form.string_key_end, form.value_open,
             form.value_close, form.closers[0], form.closers[1], form.closers[2],
             form.section_close, form.skips[0], form.skips[1], form.skips[2], form.skips[3],
             reasoning.open, reasoning.close) ||
         (form.syntax == CallSyntax::kHarmony && IsHarmonyMarker(name));
}

std::vector<TokenMark> MarksOf(const AnswerForm& form, const ReasoningForm& reasoning,
                               const Tokenizer& tokenizer) {
  std::vector<TokenId> tokens;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view name = tokenizer.TokenBytes(id);
    if (tokenizer.IsControl(id) && !name.empty() && IsMarker(form, reasoning, name))
      tokens.push_back(id);
  }
  // A name may begin as another one does: the longest counts.
  std::stable_sort(tokens.begin(), tokens.end(), [&](TokenId a, TokenId b) {
    return tokenizer.TokenBytes(a).size() > tokenizer.TokenBytes(b).size();
  });
  tokens.resize(std::min(tokens.size(), chat::kMaxMarks));
  std::vector<TokenMark> marks;
  for (size_t i = 0; i < tokens.size(); ++i)
    marks.push_back(
        {.token = tokens[i],
         .bytes = {static_cast<char>(chat::kMarkByte), static_cast<char>(chat::kMarkNumber + i)}});
  return marks;
}

std::string_view WithoutTrailingBlanks(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

ChatAnswerFormat::ChatAnswerFormat()
    : state_(std::make_shared<const State>(State{{kNoForm, kNoReasoning, {}}, {}})) {}

ChatAnswerFormat::ChatAnswerFormat(std::shared_ptr<const State> state) : state_(std::move(state)) {}

ChatAnswerFormat ChatAnswerFormat::Of(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  const AnswerForm& form = FormOf(chat.source());
  const ReasoningForm& reasoning = ReasoningOf(chat.source());
  std::vector<TokenMark> marks = MarksOf(form, reasoning, tokenizer);
  std::vector<std::string> names;
  for (const TokenMark& mark : marks) names.emplace_back(tokenizer.TokenBytes(mark.token));
  return ChatAnswerFormat(
      std::make_shared<const State>(State{{form, reasoning, std::move(names)}, std::move(marks)}));
}

std::string_view ChatAnswerFormat::name() const { return state_->form.form().name; }

bool ChatAnswerFormat::has_calls() const { return state_->form.form().syntax != CallSyntax::kNone; }

bool ChatAnswerFormat::has_reasoning() const {
  return !state_->form.reasoning().open.empty() ||
         state_->form.form().syntax == CallSyntax::kHarmony;
}

bool ChatAnswerFormat::OpensReasoning(std::string_view tail) const {
  const std::string_view open = state_->form.reasoning().open;
  return !open.empty() && WithoutTrailingBlanks(tail).ends_with(open);
}

const std::vector<TokenMark>& ChatAnswerFormat::marks() const { return state_->marks; }

// Members refer to one another: it stays where it is.
struct ChatAnswerReader::State {
  State(const ChatAnswerFormat& answer_format, ChatAnswerOptions answer_options)
      : format(answer_format),
        options(std::move(answer_options)),
        tools(options.tools),
        out({.ids =
                 format.state_->form.form().short_ids ? chat::IdForm::kShort : chat::IdForm::kLong,
             .id_seed = options.id_seed,
             .one_call = options.one_call}) {
    const chat::SpelledForm& form = format.state_->form;
    const chat::SectionsContext context{form, tools, options, out};
    sections = form.form().syntax == CallSyntax::kHarmony ? chat::ReadHarmonyAnswer(context)
                                                          : chat::ReadMarkedAnswer(context);
  }

  void Push(unsigned char byte) {
    if (std::exchange(in_mark, false)) {
      sections->Push(static_cast<Symbol>(chat::kMarkBase + (byte - chat::kMarkNumber)));
    } else if (byte == chat::kMarkByte) {
      in_mark = true;
    } else {
      sections->Push(byte);
    }
  }

  ChatAnswerFormat format;
  ChatAnswerOptions options;
  chat::ToolSet tools;
  chat::PieceWriter out;
  std::unique_ptr<chat::AnswerSections> sections;
  bool in_mark = false;  // its first byte has come
};

ChatAnswerReader::ChatAnswerReader(const ChatAnswerFormat& format, ChatAnswerOptions options)
    : state_(std::make_unique<State>(format, std::move(options))) {}
ChatAnswerReader::~ChatAnswerReader() = default;
ChatAnswerReader::ChatAnswerReader(ChatAnswerReader&& other) noexcept = default;
ChatAnswerReader& ChatAnswerReader::operator=(ChatAnswerReader&& other) noexcept = default;

std::vector<ChatPiece> ChatAnswerReader::Push(std::string_view text) {
  for (const char byte : text) state_->Push(static_cast<unsigned char>(byte));
  return state_->out.Take();
}

std::vector<ChatPiece> ChatAnswerReader::Finish(AnswerEnd end) {
  state_->sections->Finish(end);
  return state_->out.Take();
}

int32_t ChatAnswerReader::call_count() const { return state_->out.call_count(); }

}  // namespace skald
