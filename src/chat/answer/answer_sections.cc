#include "chat/answer/answer_sections.h"

#include <algorithm>

#include "base/check.h"
#include "chat/answer/field_calls.h"
#include "chat/answer/gemma_calls.h"
#include "chat/answer/headed_calls.h"
#include "chat/answer/json_calls.h"
#include "chat/answer/python_calls.h"

namespace skald::chat {

ToolSet::ToolSet(std::shared_ptr<const std::vector<ChatTool>> tools)
    : tools_(tools ? std::move(tools) : std::make_shared<const std::vector<ChatTool>>()) {}

const ChatTool* ToolSet::Find(std::string_view name) const {
  const auto found = std::find_if(tools_->begin(), tools_->end(),
                                  [&](const ChatTool& tool) { return tool.name == name; });
  return found == tools_->end() ? nullptr : &*found;
}

SpelledForm::SpelledForm(const AnswerForm& form, const ReasoningForm& reasoning,
                         std::vector<std::string> marks)
    : form_(&form), reasoning_(&reasoning), marks_(std::move(marks)) {}

Symbols SpelledForm::Spell(std::string_view text) const {
  Symbols symbols;
  while (!text.empty()) {
    const auto mark = std::find_if(marks_.begin(), marks_.end(),
                                   [&](const std::string& name) { return text.starts_with(name); });
    const bool is_mark = mark != marks_.end();
    symbols += is_mark ? static_cast<Symbol>(kMarkBase + (mark - marks_.begin()))
                       : static_cast<Symbol>(static_cast<unsigned char>(text[0]));
    text.remove_prefix(is_mark ? mark->size() : 1);
  }
  return symbols;
}

std::vector<Symbols> SpelledForm::SpellAll(std::span<const std::string_view> texts) const {
  std::vector<Symbols> all;
  for (const std::string_view text : texts)
    if (!text.empty()) all.push_back(Spell(text));
  return all;
}

namespace {

HeadedCallForm HeadedForm(const SpelledForm& spelled) {
  const AnswerForm& form = spelled.form();
  return {.call_open = spelled.Spell(form.call_open),
          .prefix = spelled.Spell(form.prefix),
          .name_end = spelled.Spell(form.name_end),
          .name_end_before_id = spelled.Spell(form.name_end_before_id),
          .head_end = spelled.Spell(form.head_end),
          .text_head = spelled.Spell(form.text_head),
          .closers = spelled.SpellAll(form.closers),
          .section_close = spelled.Spell(form.section_close)};
}

// Without a section the opening marker was the call's own.
FieldCallForm FieldForm(const SpelledForm& spelled) {
  const AnswerForm& form = spelled.form();
  const bool has_section = !form.section_open.empty();
  return {.call_open = spelled.Spell(has_section ? form.call_open : std::string_view()),
          .name_end = spelled.Spell(form.name_end),
          .key_open = spelled.Spell(form.key_open),
          .key_end = spelled.Spell(form.key_end),
          .string_key_end = spelled.Spell(form.string_key_end),
          .value_open = spelled.Spell(form.value_open),
          .value_close = spelled.Spell(form.value_close),
          .call_close = spelled.Spell(form.closers[0]),
          .section_close = spelled.Spell(form.section_close),
          .trims_newlines = form.trims_newlines};
}

}  // namespace

std::unique_ptr<CallReader> MakeCallReader(const SectionsContext& context, CallOpener opener) {
  const SpelledForm& spelled = context.form;
  const AnswerForm& form = spelled.form();
  const CallContext calls{context.tools, context.out};
  switch (form.syntax) {
    case CallSyntax::kJson:
      return ReadJsonCalls({.closers = spelled.SpellAll(form.closers),
                            .id_behind = form.id_behind,
                            .needs_arguments = opener == CallOpener::kBareObject},
                           calls);
    case CallSyntax::kHeaded:
      return ReadHeadedCalls(HeadedForm(spelled), {.in_section = opener == CallOpener::kSection},
                             calls);
    case CallSyntax::kFields: return ReadFieldCalls(FieldForm(spelled), calls);
    case CallSyntax::kPython: return ReadPythonCalls(spelled.SpellAll(form.closers), calls);
    case CallSyntax::kGemma:
      return ReadGemmaCalls(
          {.quote = spelled.Spell(form.value_open), .closer = spelled.Spell(form.closers[0])},
          calls);
    case CallSyntax::kNone:
    case CallSyntax::kHarmony: break;
  }
  CHECK(false);
  return nullptr;
}

}  // namespace skald::chat
