#include "cli/traffic_chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "skald/chat_template.h"

namespace skald::cli {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

std::optional<value> Parsed(std::string_view text) {
  boost::json::error_code error;
  value parsed = boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  if (error) return std::nullopt;
  return parsed;
}

// The texts of a content that came in parts, one behind the other; templates of models that see
// texts alone know no parts.
void JoinParts(value& content) {
  if (!content.is_array()) return;
  std::string joined;
  for (const value& part : content.get_array()) {
    const value* text = part.is_object() ? part.get_object().if_contains("text") : nullptr;
    if (text != nullptr && text->is_string()) joined += text->get_string();
  }
  content = boost::json::string(joined);
}

// Clients send the arguments of a call as a text with JSON; templates write JSON of them.
void OpenArguments(value& call) {
  value* function = call.is_object() ? call.get_object().if_contains("function") : nullptr;
  if (function == nullptr || !function->is_object()) return;
  value* arguments = function->get_object().if_contains("arguments");
  if (arguments == nullptr || !arguments->is_string()) return;
  if (auto parsed = Parsed(arguments->get_string())) *arguments = *std::move(parsed);
}

void MakePlain(array& messages) {
  for (value& message : messages) {
    if (!message.is_object()) continue;
    object& fields = message.get_object();
    if (value* content = fields.if_contains("content")) JoinParts(*content);
    value* calls = fields.if_contains("tool_calls");
    if (calls == nullptr || !calls->is_array()) continue;
    for (value& call : calls->get_array()) OpenArguments(call);
  }
}

// One line, and what its prompt is made with.
class ChatLine {
 public:
  ChatLine(std::string_view text, int64_t line) : line_(line), parsed_(Parsed(text)) {}

  Result<std::vector<TokenId>> Prompt(const ChatTemplate& chat, const Model& model) {
    value* messages = Find("messages");
    if (messages == nullptr || !messages->is_array())
      return TraceLineError(line_, "expected a JSON object with a list 'messages'");
    MakePlain(messages->get_array());
    object variables = {{"messages", *messages}, {"add_generation_prompt", true}};
    if (const value* tools = Find("tools")) variables["tools"] = *tools;
    if (const value* extra = Find("chat_template_kwargs"); extra != nullptr && extra->is_object()) {
      const Status added = AddChatVariables(extra->get_object(), &variables);
      if (!added.ok()) return TraceLineError(line_, added.message());
    }
    // A fixed date: the same file is the same load on every day.
    Result<ChatPrompt> prompt = MakeChatPrompt(chat, model.tokenizer(), variables, {});
    if (!prompt.ok()) return TraceLineError(line_, prompt.status().message());
    return std::move(prompt->tokens);
  }

  // A whole number, not below 0, if there is one of that name.
  Result<std::optional<int64_t>> Number(std::string_view name) {
    const value* found = Find(name);
    if (found == nullptr || found->is_null()) return std::optional<int64_t>();
    if (found->is_int64() && found->get_int64() >= 0) return std::optional(found->get_int64());
    return TraceLineError(line_, fmt::format("expected a whole number '{}'", name));
  }

 private:
  value* Find(std::string_view name) {
    return parsed_ && parsed_->is_object() ? parsed_->get_object().if_contains(name) : nullptr;
  }

  int64_t line_;
  std::optional<value> parsed_;
};

Result<int64_t> AnswerLength(ChatLine& line, int64_t otherwise) {
  ASSIGN_OR_RETURN(const auto newer, line.Number("max_completion_tokens"));
  ASSIGN_OR_RETURN(const auto older, line.Number("max_tokens"));
  return std::max<int64_t>(1, newer ? *newer : older.value_or(otherwise));
}

}  // namespace

bool IsChatTrace(std::string_view text) {
  const std::optional<value> first = Parsed(TakeLine(&text));
  return first && first->is_object() && first->get_object().contains("messages");
}

Result<ChatTrace> ParseChatTrace(std::string_view text, const TrafficShape& shape,
                                 const Model& model) {
  RETURN_IF_ERROR(model.chat_template().status());
  const ChatTemplate& chat = *model.chat_template();
  ChatTrace trace;
  for (int64_t line = 1; !text.empty() && std::ssize(trace.requests) < shape.num_prompts; ++line) {
    const std::string_view content = TakeLine(&text);
    if (content.empty()) continue;
    ChatLine read(content, line);
    TrafficRequest request;
    ASSIGN_OR_RETURN(request.prompt, read.Prompt(chat, model));
    ASSIGN_OR_RETURN(request.output_tokens, AnswerLength(read, shape.output_len));
    if (std::ssize(request.prompt) + request.output_tokens > model.info().context_length) {
      return TraceLineError(line, fmt::format("{} tokens and {} of an answer are more than the "
                                              "model's context of {}",
                                              request.prompt.size(), request.output_tokens,
                                              model.info().context_length));
    }
    ASSIGN_OR_RETURN(const auto milliseconds, read.Number("timestamp"));
    if (trace.requests.empty()) trace.has_times = milliseconds.has_value();
    if (trace.has_times != milliseconds.has_value())
      return TraceLineError(line, "expected a 'timestamp' in every line or in none");
    request.arrival_seconds = static_cast<double>(milliseconds.value_or(0)) /
                              (1000 * static_cast<double>(shape.trace_scale));
    trace.requests.push_back(std::move(request));
  }
  SortByArrival(&trace.requests);
  return trace;
}

}  // namespace skald::cli
