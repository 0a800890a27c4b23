#include "server/anthropic/messages_answer.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"
#include "server/cached_tokens.h"

namespace skald::server {

namespace {

using Kind = ChatPiece::Kind;

std::string Event(std::string_view name, JsonWriter& json) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json.Take());
}

std::string_view StopReason(const Choice& choice) {
  switch (*choice.reason) {
    case FinishReason::kLength: return "max_tokens";
    case FinishReason::kContext: return "model_context_window_exceeded";
    default: break;
  }
  if (choice.stop_string) return "stop_sequence";
  return choice.call_count > 0 ? "tool_use" : "end_turn";
}

void WriteStop(const Choice& choice, JsonWriter& json) {
  json.Key("stop_reason");
  choice.reason ? json.String(StopReason(choice)) : json.Null();
  json.Key("stop_sequence");
  choice.stop_string ? json.String(*choice.stop_string) : json.Null();
}

// Tokens that were found in the cache are not counted as input once more.
void WriteUsage(const Usage& usage, JsonWriter& json) {
  json.Key("usage").BeginObject();
  json.Key("input_tokens").Int(usage.prompt_tokens - usage.cached.total());
  json.Key("cache_creation_input_tokens").Int(0);
  json.Key("cache_read_input_tokens").Int(usage.cached.total());
  json.Key("cache_read_input_tokens_details");
  WriteTiers(usage.cached, json);
  json.Key("output_tokens").Int(usage.completion_tokens).EndObject();
}

void WriteHead(const AnswerFrame& frame, JsonWriter& json) {
  json.Key("id").String(frame.id).Key("type").String("message");
  json.Key("role").String("assistant").Key("model").String(frame.model);
  json.Key("system_fingerprint").String(frame.system_fingerprint);
  json.Key("seed").Int(static_cast<int64_t>(frame.seed));
}

// Arguments follow the call that they are of.
void WriteBlocks(const std::vector<ChatPiece>& pieces, JsonWriter& json) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const ChatPiece& piece = pieces[i];
    if (piece.kind == Kind::kArguments) continue;
    json.BeginObject();
    if (piece.kind == Kind::kText) {
      json.Key("type").String("text").Key("text").String(piece.text);
    } else if (piece.kind == Kind::kReasoning) {
      json.Key("type").String("thinking").Key("thinking").String(piece.text);
      json.Key("signature").String("");
    } else {
      std::string arguments;
      for (size_t j = i + 1; j < pieces.size() && pieces[j].kind == Kind::kArguments; ++j)
        arguments += pieces[j].text;
      json.Key("type").String("tool_use").Key("id").String(piece.id);
      json.Key("name").String(piece.text).Key("input");
      WriteArgumentsObject(arguments, json);
    }
    json.EndObject();
  }
}

}  // namespace

std::vector<std::string> MessagesAnswer::WholeInPieces(const std::vector<Choice>& choices,
                                                       const Usage& usage) const {
  const Choice& choice = choices.at(0);
  JsonWriter json;
  json.BeginObject();
  WriteHead(frame_, json);
  json.Key("content").BeginArray();
  WriteBlocks(PiecesOf(choice), json);
  json.EndArray();
  WriteStop(choice, json);
  WriteUsage(usage, json);
  json.EndObject();
  return {json.Take()};
}

StreamForm MessagesAnswer::stream_form() const {
  return {.heartbeat = "event: ping\ndata: {\"type\":\"ping\"}\n\n"};
}

std::string MessagesAnswer::Begin(const Usage& usage) {
  JsonWriter json;
  json.BeginObject().Key("type").String("message_start").Key("message").BeginObject();
  WriteHead(frame_, json);
  json.Key("content").BeginArray().EndArray();
  WriteStop({}, json);
  WriteUsage({.prompt_tokens = usage.prompt_tokens, .cached = usage.cached}, json);
  json.EndObject().EndObject();
  return Event("message_start", json);
}

std::string MessagesAnswer::Chunk(int64_t, const Choice& choice, Position) {
  std::string events;
  for (const ChatPiece& piece : PiecesOf(choice)) events += Add(piece);
  return events;
}

std::string MessagesAnswer::Add(const ChatPiece& piece) {
  std::string events;
  if (piece.kind == Kind::kCall) events = Stop();
  if (piece.kind != Kind::kArguments) events += Start(OpenFor(piece.kind), piece);
  switch (piece.kind) {
    case Kind::kText: return events + Delta("text_delta", "text", piece.text);
    case Kind::kReasoning: return events + Delta("thinking_delta", "thinking", piece.text);
    case Kind::kCall: return events;
    case Kind::kArguments: return events + Delta("input_json_delta", "partial_json", piece.text);
  }
  return events;
}

MessagesAnswer::Open MessagesAnswer::OpenFor(ChatPiece::Kind kind) {
  if (kind == Kind::kText) return Open::kText;
  return kind == Kind::kReasoning ? Open::kThinking : Open::kToolUse;
}

// Opens a block, if the one that is open is of another kind.
std::string MessagesAnswer::Start(Open kind, const ChatPiece& piece) {
  if (open_ == kind) return {};
  std::string events = Stop();
  open_ = kind;
  JsonWriter json;
  json.BeginObject().Key("type").String("content_block_start").Key("index").Int(++block_);
  json.Key("content_block").BeginObject();
  if (kind == Open::kText) {
    json.Key("type").String("text").Key("text").String("");
  } else if (kind == Open::kThinking) {
    json.Key("type").String("thinking").Key("thinking").String("").Key("signature").String("");
  } else {
    json.Key("type").String("tool_use").Key("id").String(piece.id);
    json.Key("name").String(piece.text).Key("input").BeginObject().EndObject();
  }
  json.EndObject().EndObject();
  return events + Event("content_block_start", json);
}

std::string MessagesAnswer::Delta(std::string_view type, std::string_view member,
                                  std::string_view text) const {
  JsonWriter json;
  json.BeginObject().Key("type").String("content_block_delta").Key("index").Int(block_);
  json.Key("delta").BeginObject().Key("type").String(type).Key(member).String(text);
  json.EndObject().EndObject();
  return Event("content_block_delta", json);
}

std::string MessagesAnswer::Stop() {
  if (open_ == Open::kNothing) return {};
  // Clients give thinking back only with a signature. Nothing here is signed.
  std::string events =
      open_ == Open::kThinking ? Delta("signature_delta", "signature", "") : std::string();
  open_ = Open::kNothing;
  JsonWriter json;
  json.BeginObject().Key("type").String("content_block_stop").Key("index").Int(block_).EndObject();
  return events + Event("content_block_stop", json);
}

std::string MessagesAnswer::End(int64_t, const Choice& choice) {
  ended_ = {
      .call_count = choice.call_count, .reason = choice.reason, .stop_string = choice.stop_string};
  return Stop();
}

std::string MessagesAnswer::Finish(const Usage& usage) {
  JsonWriter json;
  json.BeginObject().Key("type").String("message_delta").Key("delta").BeginObject();
  WriteStop(ended_, json);
  json.EndObject();
  WriteUsage(usage, json);
  json.EndObject();
  const std::string delta = Event("message_delta", json);
  json.BeginObject().Key("type").String("message_stop").EndObject();
  return delta + Event("message_stop", json);
}

std::string MessagesAnswer::Error(const ApiError& error) {
  return "event: error\ndata: " + ToJson(error, ErrorForm::kAnthropic) + "\n\n";
}

}  // namespace skald::server
