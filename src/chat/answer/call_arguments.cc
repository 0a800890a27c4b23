// The arguments of a call as a format writes them.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "chat/answer/format_state.h"
#include "chat/answer/python_calls.h"
#include "chat/answer/written_calls.h"
#include "grammar/fuel.h"
#include "grammar/json_schema.h"
#include "skald/chat_grammar.h"

namespace skald {

namespace {

using chat::AnswerForm;
using chat::CallSyntax;
using chat::HasMark;
using chat::Spelled;
using grammar::ArgumentSyntax;
using grammar::BareText;
using grammar::Expression;
using grammar::Sequence;
using grammar::TextExpression;
using grammar::ValueForm;

// Readers hold keys of 1,024 symbols, with what ends them.
constexpr size_t kMaxKeyBytes = 512;

bool IsShort(std::string_view name) { return !name.empty() && name.size() <= kMaxKeyBytes; }

BareText TextOf(ChatTool::Kind kind) {
  switch (kind) {
    case ChatTool::Kind::kString: return BareText::kAlways;
    case ChatTool::Kind::kStringOrNull: return BareText::kUnlessNull;
    case ChatTool::Kind::kAny:
    case ChatTool::Kind::kValue: break;
  }
  return BareText::kNever;
}

// Arguments between markers, one by one.
ArgumentSyntax FieldSyntax(const ChatAnswerFormat::State& format, const ChatTool& tool) {
  const AnswerForm& form = format.form.form();
  // What a template writes around values, and a reader takes off them.
  const Expression newline = TextExpression(form.trims_newlines ? U"\n" : U"");
  const Expression joint = grammar::Repeat(TextExpression(U"\n"), form.written.may_join ? 0 : 1, 1);
  const auto head = [&](std::string_view key_end) {
    Expression open = Sequence({});
    if (!form.value_open.empty()) open = Sequence({joint, Spelled(format, form.value_open)});
    return Sequence({Spelled(format, key_end), std::move(open), newline});
  };
  ArgumentSyntax syntax;
  // A closer that is a control token is none of the letters of a value.
  const bool is_text = !HasMark(format, form.value_close);
  syntax.values = is_text ? ValueForm::kJsonInside : ValueForm::kJson;
  if (is_text) syntax.text_stop = Spelled(format, form.value_close);
  syntax.before_first = syntax.before_next = Spelled(format, form.key_open);
  syntax.key_end = head(form.key_end);
  syntax.text_key_end = head(form.string_key_end);
  syntax.value_end = Sequence({newline, Spelled(format, form.value_close), joint});
  if (form.string_key_end.empty()) {
    for (const ChatTool::Parameter& parameter : tool.parameters)
      syntax.texts.emplace(parameter.name, TextOf(parameter.kind));
  } else {
    syntax.other_texts = BareText::kByKey;
  }
  // A reader looks for the end of a key at each of its symbols.
  const bool ends_as_text = !HasMark(format, form.key_end);
  syntax.can_be_key = [ends_as_text, stop = form.key_end.front()](std::string_view name) {
    return IsShort(name) && (!ends_as_text || name.find(stop) == std::string_view::npos);
  };
  return syntax;
}

ArgumentSyntax PythonSyntax() {
  return {.values = ValueForm::kPython,
          .before_next = TextExpression(U", "),
          .key_end = TextExpression(U"="),
          .can_be_key = [](std::string_view name) {
            return IsShort(name) && std::all_of(name.begin(), name.end(), [](char c) {
                     return chat::IsPythonWord(static_cast<unsigned char>(c));
                   });
          }};
}

ArgumentSyntax GemmaSyntax(const ChatAnswerFormat::State& format) {
  const std::string_view quote = format.form.form().value_open;
  ArgumentSyntax syntax = {.values = ValueForm::kMarked,
                           .quote = Spelled(format, quote),
                           .before_next = TextExpression(U","),
                           .key_end = TextExpression(U":"),
                           // White space in front of a key is none of it, and a brace ends the
                           // object there.
                           .can_be_key = [](std::string_view name) {
                             return IsShort(name) && name.find(':') == std::string_view::npos &&
                                    name.find_first_of(" \t\r\n}") != 0;
                           }};
  if (!HasMark(format, quote)) syntax.text_stop = Spelled(format, quote);
  return syntax;
}

}  // namespace

Result<Grammar> MakeCallArguments(const ChatAnswerFormat& format, const ChatTool& tool,
                                  std::string_view schema, SchemaMode mode, CompileBudget* budget) {
  ArgumentSyntax syntax;
  switch (format.state().form.form().syntax) {
    case CallSyntax::kFields: syntax = FieldSyntax(format.state(), tool); break;
    case CallSyntax::kPython: syntax = PythonSyntax(); break;
    case CallSyntax::kGemma: syntax = GemmaSyntax(format.state()); break;
    case CallSyntax::kNone:
    case CallSyntax::kJson:
    case CallSyntax::kHeaded:
    case CallSyntax::kHarmony:
      return Grammar::FromJsonSchema(schema, {.mode = mode, .only_objects = true}, budget);
  }
  ASSIGN_OR_RETURN(grammar::CompiledSchema compiled,
                   grammar::WithinBudget(budget, [&](grammar::Fuel* fuel) {
                     return grammar::CompileArguments(schema, mode, syntax, fuel);
                   }));
  return Grammar::FromForm(std::move(compiled.form), std::move(compiled.left_out));
}

}  // namespace skald
