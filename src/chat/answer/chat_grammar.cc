#include "skald/chat_grammar.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "chat/answer/format_state.h"
#include "chat/answer/harmony_grammar.h"
#include "chat/answer/written_calls.h"
#include "grammar/free_text.h"
#include "grammar/rule_set.h"

namespace skald {

namespace {

using chat::AnswerForm;
using chat::Spelled;
using chat::WrittenCalls;
using grammar::Choice;
using grammar::Expression;
using grammar::Form;
using grammar::Repeat;
using grammar::RuleExpression;
using grammar::Sequence;
using grammar::TextExpression;

// Rules have numbers before they are made, because they name one another. What stands in several
// places is a rule of its own: an expression would be copied into each, with all names of tools.
enum Rule : uint32_t {
  kRoot,
  kBody,
  kCall,
  kBareCall,
  kBlanks,
  kText,
  kFirstText,
  kAnswer,
  kRuleCount
};

Expression Optional(Expression part) { return Repeat(std::move(part), 0, 1); }
Expression AnyNumber(Expression part) { return Repeat(std::move(part), 0, grammar::kUnbounded); }

// As a reader passes over it in front of a marker.
Expression ReadersBlanks() {
  return AnyNumber(grammar::SetExpression({{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}}));
}

class Maker {
 public:
  Maker(const ChatAnswerFormat::State& format, const ChatGrammarOptions& options,
        grammar::Fuel* fuel)
      : format_(format), form_(format.form.form()), options_(options), fuel_(*fuel) {
    set_.rules.resize(kRuleCount, Sequence({}));
  }

  // Tools first: Calls names them by their numbers among the parts.
  Result<Form> Make() {
    for (const CallableTool& tool : options_.tools) AddPart(tool.arguments.form());
    set_.rules[kBlanks] = chat::Blanks();
    set_.rules[kCall] = Calls({written().call, written().other_call});
    set_.rules[kBareCall] = Calls({written().bare_call, {}});
    RETURN_IF_ERROR(MakeTexts());
    if (options_.text) set_.rules[kAnswer] = AddPart(options_.text->form());
    set_.rules[kBody] = is_harmony() ? HarmonyAnswer() : Body();
    ASSIGN_OR_RETURN(set_.rules[kRoot], Root());
    return grammar::CompileRules(set_, &fuel_);
  }

 private:
  const WrittenCalls& written() const { return form_.written; }
  // A text without calls may be bound, too; a text beside calls may be any, or there is none.
  bool is_harmony() const { return form_.syntax == chat::CallSyntax::kHarmony; }
  bool any_text() const { return !options_.must_call && !options_.text; }
  bool one_call() const { return options_.one_call || written().is_single; }

  Expression AddPart(const Form& form) {
    set_.parts.push_back(&form);
    return RuleExpression(static_cast<uint32_t>(kRuleCount + set_.parts.size() - 1));
  }

  // A call of any tool, by any of the patterns. A pattern is written out for each tool, so that its
  // name alone tells which arguments follow; what the patterns share is one way through the
  // automaton once that is deterministic.
  Expression Calls(std::initializer_list<std::string_view> patterns) const {
    std::vector<Expression> calls;
    for (const std::string_view pattern : patterns) {
      if (pattern.empty()) continue;
      for (uint32_t i = 0; i < options_.tools.size(); ++i)
        calls.push_back(
            chat::CallOf(format_, pattern, {options_.tools[i].name, kRuleCount + i}, kBlanks));
    }
    return Choice(std::move(calls));
  }

  Expression HarmonyAnswer() const {
    return chat::HarmonyBody(format_, options_, {.text = kText, .call = kCall, .answer = kAnswer});
  }

  // What begins a call, as far as letters do: no text holds it, else an answer could be read in two
  // ways. A control token is in no text anyhow.
  Expression Openers() const {
    if (is_harmony()) return chat::HarmonyMarkers(format_);
    std::vector<Expression> openers;
    for (const std::string_view text : {form_.section_open, form_.call_open})
      if (!text.empty() && !chat::HasMark(format_, text)) openers.push_back(Spelled(format_, text));
    return Choice(std::move(openers));
  }

  // A text that begins as an object and names a tool in it could be read as a call.
  Expression NamesATool() const {
    std::vector<Expression> names;
    for (const CallableTool& tool : options_.tools)
      names.push_back(Spelled(format_, "\"" + tool.name + "\""));
    return Sequence(
        {TextExpression(U"{"), AnyNumber(grammar::SetExpression(grammar::AllCharacters())),
         Choice({TextExpression(U"\"name\""), TextExpression(U"\"tool_name\"")}), ReadersBlanks(),
         TextExpression(U":"), ReadersBlanks(), Choice(std::move(names))});
  }

  // What a reader takes for something else only where the answer begins, behind white space.
  Expression FirstOpeners() const {
    std::vector<Expression> openers;
    const std::string_view thought = format_.form.reasoning().open;
    if (!thought.empty() && !chat::HasMark(format_, thought))
      openers.push_back(Spelled(format_, thought));
    if (form_.bare_object) openers.push_back(NamesATool());
    return Sequence({ReadersBlanks(), Choice(std::move(openers))});
  }

  // Free texts, with the markers in them that readers pass over.
  Status MakeTexts() {
    // Reasoning of Harmony is a text like others.
    if (!any_text() && !is_harmony()) return Ok();
    ASSIGN_OR_RETURN(first_text_, grammar::FreeText(
                                      {.anywhere = Openers(), .at_begin = FirstOpeners()}, &fuel_));
    ASSIGN_OR_RETURN(text_, grammar::FreeText({.anywhere = Openers()}, &fuel_));
    const Expression first = AddPart(first_text_);
    const Expression text = AddPart(text_);
    std::vector<Expression> skips;
    for (const std::string_view skip : form_.skips)
      if (!skip.empty() && chat::HasMark(format_, skip)) skips.push_back(Spelled(format_, skip));
    const Expression behind = AnyNumber(Sequence({Choice(std::move(skips)), text}));
    set_.rules[kFirstText] = Sequence({first, behind});
    set_.rules[kText] = Sequence({text, behind});
    return Ok();
  }

  // All calls of a row between one pair of markers, or without any.
  Expression Section() const {
    std::vector<Expression> parts = {Spelled(format_, written().open), RuleExpression(kCall)};
    if (!one_call()) {
      parts.push_back(AnyNumber(Sequence(
          {chat::CallOf(format_, written().between, {}, kBlanks), RuleExpression(kCall)})));
    }
    parts.push_back(Spelled(format_, written().close));
    return Sequence(std::move(parts));
  }

  // Where the prompt has written the first head's marker: a text, or a call, and so on.
  Expression HeadedBody() const {
    const Expression text = Sequence({Spelled(format_, form_.text_head), RuleExpression(kText)});
    const std::string head = std::string(form_.call_open) + std::string(form_.text_head);
    const Expression more_text = Sequence({Spelled(format_, head), RuleExpression(kText)});
    if (one_call())
      return Choice({RuleExpression(kBareCall), Sequence({text, Optional(RuleExpression(kCall))})});
    return Sequence({Choice({RuleExpression(kBareCall), text}),
                     AnyNumber(Choice({RuleExpression(kCall), more_text}))});
  }

  Expression AnyTextBody() const {
    if (form_.starts_in_head) return HeadedBody();
    // Between calls without a section is text, white space or not.
    const Expression section = written().open.empty() ? RuleExpression(kCall) : Section();
    const Expression calls =
        one_call() ? Optional(section) : AnyNumber(Sequence({section, RuleExpression(kText)}));
    const Expression body = Sequence({RuleExpression(kFirstText), calls});
    return form_.bare_object ? Choice({body, RuleExpression(kBareCall)}) : body;
  }

  Expression BareCalls() const {
    if (one_call()) return RuleExpression(kBareCall);
    return Sequence({RuleExpression(kBareCall), AnyNumber(RuleExpression(kCall))});
  }

  Expression Body() {
    if (options_.tools.empty() && any_text() && !form_.starts_in_head)
      return RuleExpression(kFirstText);
    if (any_text()) return AnyTextBody();
    std::vector<Expression> ways;
    if (!options_.must_call)
      ways.push_back(Sequence({Spelled(format_, form_.text_head), RuleExpression(kAnswer)}));
    if (!options_.tools.empty()) ways.push_back(form_.starts_in_head ? BareCalls() : Section());
    if (!options_.tools.empty() && form_.bare_object) ways.push_back(RuleExpression(kBareCall));
    return Choice(std::move(ways));
  }

  // Reasoning to its end, and the newlines that stand behind it.
  Result<Expression> Thought() {
    const std::string_view close = format_.form.reasoning().close;
    std::vector<Expression> ends;
    if (!chat::HasMark(format_, close)) ends.push_back(Spelled(format_, close));
    if (!options_.split_reasoning) ends.push_back(Openers());
    ASSIGN_OR_RETURN(thought_, grammar::FreeText({.anywhere = Choice(std::move(ends))}, &fuel_));
    std::vector<Expression> parts = {AddPart(thought_), Spelled(format_, close)};
    if (!any_text()) parts.push_back(Repeat(TextExpression(U"\n"), 0, 2));
    return Sequence(std::move(parts));
  }

  Result<Expression> Root() {
    const Expression body = RuleExpression(kBody);
    const std::string_view open = format_.form.reasoning().open;
    if (open.empty()) return body;
    ASSIGN_OR_RETURN(Expression thought, Thought());
    if (options_.in_reasoning) return Sequence({std::move(thought), body});
    return Choice({body, Sequence({Repeat(TextExpression(U"\n"), 0, 2), Spelled(format_, open),
                                   std::move(thought), body})});
  }

  const ChatAnswerFormat::State& format_;
  const AnswerForm& form_;
  const ChatGrammarOptions& options_;
  grammar::Fuel& fuel_;
  grammar::RuleSet set_;
  // set_ has pointers to these: they stay where they are until it is compiled.
  Form first_text_;
  Form text_;
  Form thought_;
};

}  // namespace

Result<Grammar> MakeChatGrammar(const ChatAnswerFormat& format, const ChatGrammarOptions& options,
                                CompileBudget* budget) {
  if (!options.tools.empty() && !format.has_calls())
    return Status(ErrorCode::kUnsupported, "the format '" + std::string(format.name()) +
                                               "' has no calls that tools could be held to");
  ASSIGN_OR_RETURN(Form form, grammar::WithinBudget(budget, [&](grammar::Fuel* fuel) {
                     return Maker(format.state(), options, fuel).Make();
                   }));
  return Grammar::FromForm(std::move(form));
}

}  // namespace skald
