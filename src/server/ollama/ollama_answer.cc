#include "server/ollama/ollama_answer.h"

#include <time.h>

#include <array>
#include <cmath>
#include <ctime>
#include <utility>

#include "server/answer.h"

namespace skald::server {

namespace {

using Kind = ChatPiece::Kind;

// What was asked is whether the model is there, and nothing else.
constexpr std::string_view kLoaded = "load";

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

void WriteCall(const ChatPiece& call, const std::string& arguments, JsonWriter& json) {
  json.BeginObject().Key("id").String(call.id).Key("function").BeginObject();
  json.Key("index").Int(call.call_index).Key("name").String(call.text).Key("arguments");
  WriteArgumentsObject(arguments, json);
  json.EndObject().EndObject();
}

void WriteDone(std::string_view reason, const Usage& usage, JsonWriter& json) {
  json.Key("done").Bool(true).Key("done_reason").String(reason);
  json.Key("total_duration").Int(Nanoseconds(usage.total_seconds));
  json.Key("load_duration").Int(0);
  json.Key("prompt_eval_count").Int(usage.prompt_tokens);
  json.Key("prompt_eval_duration").Int(Nanoseconds(usage.prompt_seconds));
  json.Key("eval_count").Int(usage.completion_tokens);
  json.Key("eval_duration").Int(Nanoseconds(usage.output_seconds));
}

}  // namespace

std::string IsoTime(int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 40> text;
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text.data(), length);
}

OllamaAnswer::OllamaAnswer(AnswerStyle style, AnswerFrame frame)
    : style_(style), frame_(std::move(frame)), done_reason_(kLoaded) {}

StreamForm OllamaAnswer::stream_form() const {
  return {.content_type = "application/x-ndjson", .heartbeat = " "};
}

OllamaAnswer::Said OllamaAnswer::SaidBy(const std::vector<ChatPiece>& pieces) {
  Said said;
  for (const ChatPiece& piece : pieces) {
    if (piece.kind == Kind::kText) said.text += piece.text;
    if (piece.kind == Kind::kReasoning) said.thinking += piece.text;
    if (piece.kind == Kind::kCall) {
      said.calls.push_back(piece);
      said.calls.push_back({.kind = Kind::kArguments, .text = {}});
    }
    if (piece.kind == Kind::kArguments) said.calls.back().text += piece.text;
  }
  return said;
}

void OllamaAnswer::WriteHead(JsonWriter& json) const {
  json.Key("model").String(frame_.model);
  json.Key("created_at").String(IsoTime(frame_.created));
}

void OllamaAnswer::WriteSaid(const Said& said, JsonWriter& json) const {
  if (style_ == AnswerStyle::kOllamaGenerate) {
    json.Key("response").String(said.text);
    if (!said.thinking.empty()) json.Key("thinking").String(said.thinking);
    return;
  }
  json.Key("message").BeginObject().Key("role").String("assistant");
  json.Key("content").String(said.text);
  if (!said.thinking.empty()) json.Key("thinking").String(said.thinking);
  if (!said.calls.empty()) {
    json.Key("tool_calls").BeginArray();
    for (size_t i = 0; i + 1 < said.calls.size(); i += 2)
      WriteCall(said.calls[i], said.calls[i + 1].text, json);
    json.EndArray();
  }
  json.EndObject();
}

std::string OllamaAnswer::Line(const Said& said) const {
  JsonWriter json;
  json.BeginObject();
  WriteHead(json);
  WriteSaid(said, json);
  json.Key("done").Bool(false).EndObject();
  return json.Take() + "\n";
}

std::vector<std::string> OllamaAnswer::WholeInPieces(const std::vector<Choice>& choices,
                                                     const Usage& usage) const {
  JsonWriter json;
  json.BeginObject();
  WriteHead(json);
  WriteSaid(choices.empty() ? Said() : SaidBy(PiecesOf(choices.front())), json);
  WriteDone(choices.empty() ? kLoaded : OpenAiFinishReason(*choices.front().reason), usage, json);
  json.Key("system_fingerprint").String(frame_.system_fingerprint);
  json.Key("seed").Int(static_cast<int64_t>(frame_.seed)).EndObject();
  return {json.Take()};
}

// The line of the call that has begun, if one has.
std::string OllamaAnswer::TakeCall() {
  if (call_.empty()) return {};
  return Line({.calls = std::exchange(call_, {})});
}

std::string OllamaAnswer::Chunk(int64_t, const Choice& choice, Position) {
  std::string lines;
  for (const ChatPiece& piece : PiecesOf(choice)) {
    if (piece.kind == Kind::kArguments) {
      call_.back().text += piece.text;
      continue;
    }
    lines += TakeCall();
    if (piece.kind == Kind::kCall)
      call_ = {piece, {.kind = Kind::kArguments, .text = {}}};
    else
      lines += Line(SaidBy({piece}));
  }
  return lines;
}

std::string OllamaAnswer::End(int64_t, const Choice& choice) {
  done_reason_ = OpenAiFinishReason(*choice.reason);
  return TakeCall();
}

std::string OllamaAnswer::Finish(const Usage& usage) {
  JsonWriter json;
  json.BeginObject();
  WriteHead(json);
  WriteSaid({}, json);
  WriteDone(done_reason_, usage, json);
  json.Key("system_fingerprint").String(frame_.system_fingerprint);
  json.Key("seed").Int(static_cast<int64_t>(frame_.seed)).EndObject();
  return json.Take() + "\n";
}

std::string OllamaAnswer::Error(const ApiError& error) {
  return ToJson(error, ErrorForm::kOllama) + "\n";
}

}  // namespace skald::server
