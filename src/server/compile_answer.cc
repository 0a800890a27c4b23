#include "server/compile_answer.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/chat_grammar.h"
#include "skald/grammar.h"

namespace skald::server {

namespace {

constexpr std::string_view kAnyObject = R"({"type":"object"})";
constexpr std::string_view kNoArguments =
    R"({"type":"object","properties":{},"additionalProperties":false})";

// 400 for what stands at `pointer`, or below it if the message says where:
// "#/properties/a/not: is not ...".
ApiError Refusal(std::string pointer, const Status& status, bool is_schema) {
  const std::string& message = status.message();
  const size_t colon = message.find(": ");
  if (is_schema && message.starts_with('#') && colon != std::string::npos)
    pointer += message.substr(1, colon - 1);
  return {.status = 400,
          .message = message,
          .param = std::move(pointer),
          .code = is_schema ? "invalid_json_schema" : "invalid_grammar"};
}

class Compiler {
 public:
  Compiler(const AnswerSource& source, StopCheck stop) : source_(source), budget_{.stop = stop} {}

  // The text before the tools: a request that asks for a text is refused for it, whatever its tools
  // are, and it has the budget first, as nothing of it may be left out for their sake.
  OrError<CompiledGrammar> Compile(const Vocabulary& vocabulary) {
    ChatGrammarOptions options{.must_call = source_.must_call,
                               .one_call = source_.one_call,
                               .in_reasoning = source_.in_reasoning,
                               .split_reasoning = source_.split_reasoning};
    if (source_.text) {
      Result<Grammar> text = CompileText(*source_.text);
      if (!text.ok()) return TextRefusal(text.status());
      compiled_.left_out = text->left_out();
      options.text = *std::move(text);
    }
    for (const ToolSource& tool : source_.tools) {
      OrError<Grammar> arguments = CompileTool(tool);
      if (auto* error = std::get_if<ApiError>(&arguments)) return std::move(*error);
      options.tools.push_back({tool.name, std::get<Grammar>(std::move(arguments))});
    }
    // Each tool may be small enough and all of them too large: then none is held, where nobody
    // counts on it.
    const Status status = Join(options, vocabulary);
    if (status.ok()) return std::move(compiled_);
    if (source_.is_lenient()) return CompiledGrammar{.left_out = {"/tools"}};
    return source_.text ? TextRefusal(status) : Refusal("/tools", status, true);
  }

 private:
  Result<Grammar> CompileText(const GrammarSource& source) {
    switch (source.kind) {
      case GrammarKind::kJsonSchema:
        return Grammar::FromJsonSchema(source.text, source.options, &budget_);
      case GrammarKind::kRegex: return Grammar::FromRegex(source.text, &budget_);
      case GrammarKind::kGbnf: break;
    }
    return Grammar::FromGbnf(source.text, &budget_);
  }

  // Tools come with the format of a chat.
  Result<Grammar> Arguments(const ToolSource& tool, std::string_view schema, SchemaMode mode,
                            CompileBudget* budget) const {
    const ChatTool described = {.name = tool.name, .parameters = tool.parameters};
    return MakeCallArguments(*source_.format, described, schema, mode, budget);
  }

  // Of a schema that cannot be kept. The declared names are told all the same: a format without
  // quotes around texts has to know which they are. On a budget of its own, as the schema may have
  // taken all there was.
  Grammar AnyArguments(const ToolSource& tool) const {
    boost::json::object properties;
    for (const ChatTool::Parameter& parameter : tool.parameters) properties[parameter.name] = true;
    const boost::json::object schema = {{"type", "object"}, {"properties", std::move(properties)}};
    CompileBudget budget;
    Result<Grammar> named =
        Arguments(tool, boost::json::serialize(schema), SchemaMode::kRelaxed, &budget);
    if (named.ok()) return *std::move(named);
    budget = {};
    return *Arguments(tool, kAnyObject, SchemaMode::kRelaxed, &budget);
  }

  // A strict tool without a schema takes nothing, as in OpenAI's rules; one that is not strict may
  // be called with anything, because agents leave schemas out. A place that is left out is told
  // from the body's root: "#/a" of a schema is below its pointer.
  OrError<Grammar> CompileTool(const ToolSource& tool) {
    const std::string_view none = tool.is_strict ? kNoArguments : kAnyObject;
    const std::string_view schema = tool.schema.empty() ? none : tool.schema;
    const SchemaMode mode = tool.is_strict ? SchemaMode::kStrict : SchemaMode::kRelaxed;
    Result<Grammar> grammar = Arguments(tool, schema, mode, &budget_);
    if (grammar.ok()) {
      for (const std::string& left_out : grammar->left_out())
        compiled_.left_out.push_back(tool.pointer + left_out.substr(1));
      return *std::move(grammar);
    }
    if (tool.is_strict) {
      ApiError error = Refusal(tool.pointer, grammar.status(), true);
      error.message = fmt::format("calls of the tool '{}' cannot be held to its schema: {}",
                                  tool.name, error.message);
      return error;
    }
    compiled_.left_out.push_back(tool.pointer);
    return AnyArguments(tool);
  }

  // Without a format no reasoning and no call may stand around the text: it is the whole answer.
  Status Join(const ChatGrammarOptions& options, const Vocabulary& vocabulary) {
    Result<Grammar> whole = source_.format ? MakeChatGrammar(*source_.format, options, &budget_)
                                           : Result<Grammar>(*options.text);
    if (!whole.ok()) return whole.status();
    Result<Constraint> constraint = Constraint::Create(*whole, vocabulary, budget_.stop);
    if (!constraint.ok()) return constraint.status();
    compiled_.constraint = *std::move(constraint);
    return Ok();
  }

  ApiError TextRefusal(const Status& status) const {
    return Refusal(PointerOf(*source_.text), status,
                   source_.text->kind == GrammarKind::kJsonSchema);
  }

  const AnswerSource& source_;
  CompileBudget budget_;
  CompiledGrammar compiled_;
};

}  // namespace

OrError<CompiledGrammar> CompileAnswer(const AnswerSource& source, const Vocabulary& vocabulary,
                                       StopCheck stop) {
  return Compiler(source, stop).Compile(vocabulary);
}

}  // namespace skald::server
