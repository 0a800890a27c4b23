#include "chat/answer/harmony_grammar.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/answer/answer_sections.h"
#include "chat/answer/written_calls.h"

namespace skald::chat {

namespace {

using grammar::Choice;
using grammar::Expression;
using grammar::Repeat;
using grammar::RuleExpression;
using grammar::Sequence;

class Messages {
 public:
  Messages(const ChatAnswerFormat::State& format, const ChatGrammarOptions& options,
           const HarmonyRules& rules)
      : format_(format), options_(options), rules_(rules) {}

  Expression Body() const {
    std::vector<Expression> ends;
    if (!options_.must_call) ends.push_back(Last());
    // The token that ends a call ends the answer in published models: it is no part of the call.
    if (!options_.tools.empty())
      ends.push_back(Sequence({RuleExpression(rules_.call), Optional("<|call|>")}));
    return Sequence({Before(), Choice(std::move(ends))});
  }

 private:
  bool any_text() const { return !options_.must_call && !options_.text; }

  Expression Optional(std::string_view marker) const {
    return Repeat(Spelled(format_, marker), 0, 1);
  }
  Expression Message(std::string_view channel, uint32_t body) const {
    const std::string head = "<|channel|>" + std::string(channel) + "<|message|>";
    return Sequence({Spelled(format_, head), RuleExpression(body)});
  }
  Expression AnyMessage() const {
    return Choice({Message("analysis", rules_.text), Message("commentary", rules_.text),
                   Message("final", rules_.text)});
  }

  // Messages in front of the last. Where a text is asked for, or none, only what is told apart from
  // it: reasoning.
  Expression Before() const {
    if (options_.text && !options_.split_reasoning) return Sequence({});
    Expression message = any_text() ? AnyMessage() : Message("analysis", rules_.text);
    return Repeat(Sequence({std::move(message), Spelled(format_, "<|end|><|start|>assistant")}), 0,
                  grammar::kUnbounded);
  }

  Expression Last() const {
    Expression message = any_text() ? AnyMessage() : Message("final", rules_.answer);
    return Sequence({std::move(message), Optional("<|return|>")});
  }

  const ChatAnswerFormat::State& format_;
  const ChatGrammarOptions& options_;
  const HarmonyRules& rules_;
};

}  // namespace

Expression HarmonyBody(const ChatAnswerFormat::State& format, const ChatGrammarOptions& options,
                       const HarmonyRules& rules) {
  return Messages(format, options, rules).Body();
}

Expression HarmonyMarkers(const ChatAnswerFormat::State& format) {
  std::vector<Expression> markers;
  for (const std::string_view marker : HarmonyMarkerNames())
    if (!HasMark(format, marker)) markers.push_back(Spelled(format, marker));
  return Choice(std::move(markers));
}

}  // namespace skald::chat
