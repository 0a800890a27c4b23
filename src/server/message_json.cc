#include "server/message_json.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "server/json_reader.h"

namespace skald::server {

namespace {

using Kind = ChatPiece::Kind;

// Of a call beside its name and arguments.
constexpr int64_t kCallBytes = 160;

std::string Joined(const std::vector<ChatPiece>& pieces, Kind kind) {
  std::string text;
  for (const ChatPiece& piece : pieces)
    if (piece.kind == kind) text += piece.text;
  return text;
}

// {"name": ..., "arguments": ...} of the call that begins at `at`.
void WriteFunction(const std::vector<ChatPiece>& pieces, size_t at, JsonWriter& json) {
  std::string arguments;
  for (size_t i = at + 1; i < pieces.size() && pieces[i].kind != Kind::kCall; ++i)
    if (pieces[i].kind == Kind::kArguments) arguments += pieces[i].text;
  json.BeginObject();
  json.Key("name").String(pieces[at].text).Key("arguments").String(arguments);
  json.EndObject();
}

void WriteCalls(const std::vector<ChatPiece>& pieces, JsonWriter& json) {
  json.Key("tool_calls").BeginArray();
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].kind != Kind::kCall) continue;
    json.BeginObject().Key("id").String(pieces[i].id).Key("type").String("function");
    json.Key("function");
    WriteFunction(pieces, i, json);
    json.EndObject();
  }
  json.EndArray();
}

// The name of a call that begins, or more of its arguments.
void WriteFunctionPiece(const ChatPiece& piece, JsonWriter& json) {
  json.BeginObject();
  if (piece.kind == Kind::kCall) json.Key("name").String(piece.text);
  json.Key("arguments").String(piece.kind == Kind::kCall ? std::string_view() : piece.text);
  json.EndObject();
}

}  // namespace

int64_t AppendPieces(std::vector<ChatPiece> more, std::vector<ChatPiece>* all) {
  int64_t bytes = 0;
  for (ChatPiece& piece : more) {
    if (piece.kind == Kind::kCall) bytes += kCallBytes;
    const bool joins = !all->empty() && piece.kind != Kind::kCall &&
                       all->back().kind == piece.kind && all->back().call_index == piece.call_index;
    if (joins)
      all->back().text += piece.text;
    else
      all->push_back(std::move(piece));
  }
  return bytes;
}

void WriteMessage(const std::vector<ChatPiece>& pieces, CallForm form, JsonWriter& json) {
  const auto call = std::find_if(pieces.begin(), pieces.end(),
                                 [](const ChatPiece& piece) { return piece.kind == Kind::kCall; });
  const std::string text = Joined(pieces, Kind::kText);
  const std::string reasoning = Joined(pieces, Kind::kReasoning);
  json.Key("content");
  const bool is_null = text.empty() && (!reasoning.empty() || call != pieces.end());
  is_null ? json.Null() : json.String(text);
  if (!reasoning.empty()) json.Key("reasoning_content").String(reasoning);
  if (call == pieces.end()) return;
  if (form == CallForm::kTools) return WriteCalls(pieces, json);
  json.Key("function_call");
  WriteFunction(pieces, static_cast<size_t>(call - pieces.begin()), json);
}

void WriteArgumentsObject(const std::string& arguments, JsonWriter& json) {
  const auto read = ReadJson(arguments);
  const auto* value = std::get_if<boost::json::value>(&read);
  if (value != nullptr && value->is_object()) {
    json.Json(arguments);
    return;
  }
  json.BeginObject();
  if (!arguments.empty()) json.Key("INVALID_JSON").String(arguments);
  json.EndObject();
}

void WriteDelta(const ChatPiece& piece, CallForm form, JsonWriter& json) {
  switch (piece.kind) {
    case Kind::kText: json.Key("content").String(piece.text); return;
    case Kind::kReasoning: json.Key("reasoning_content").String(piece.text); return;
    case Kind::kCall:
    case Kind::kArguments: break;
  }
  if (form == CallForm::kFunction) {
    json.Key("function_call");
    return WriteFunctionPiece(piece, json);
  }
  json.Key("tool_calls").BeginArray().BeginObject().Key("index").Int(piece.call_index);
  if (piece.kind == Kind::kCall) json.Key("id").String(piece.id).Key("type").String("function");
  json.Key("function");
  WriteFunctionPiece(piece, json);
  json.EndObject().EndArray();
}

}  // namespace skald::server
