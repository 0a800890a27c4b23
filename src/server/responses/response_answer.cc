#include "server/responses/response_answer.h"

#include <fmt/format.h>

#include <utility>

#include "server/cached_tokens.h"

namespace skald::server {

namespace {

using Kind = ChatPiece::Kind;
using Item = ResponseAnswer::Item;

// What events of an item and parts of its content are called.
struct Names {
  std::string_view item;
  std::string_view id_prefix;
  std::string_view part;   // of its content; a call has none
  std::string_view event;  // response.EVENT.delta
  std::string_view text;   // the member of EVENT.done
};

Names NamesOf(Kind kind) {
  switch (kind) {
    case Kind::kText: return {"message", "msg", "output_text", "output_text", "text"};
    case Kind::kReasoning: return {"reasoning", "rs", "reasoning_text", "reasoning_text", "text"};
    case Kind::kCall:
    case Kind::kArguments: break;
  }
  return {"function_call", "fc", {}, "function_call_arguments", "arguments"};
}

void WritePart(Kind kind, std::string_view text, JsonWriter& json) {
  json.BeginObject().Key("type").String(NamesOf(kind).part).Key("text").String(text);
  if (kind == Kind::kText) {
    json.Key("annotations").BeginArray().EndArray();
    json.Key("logprobs").BeginArray().EndArray();
  }
  json.EndObject();
}

// kNone: it has just begun.
enum class Content : uint8_t { kNone, kAll };

void WriteItem(const Item& item, std::string_view status, Content content, JsonWriter& json) {
  json.BeginObject().Key("id").String(item.id).Key("type").String(NamesOf(item.kind).item);
  json.Key("status").String(status);
  if (item.kind == Kind::kCall) {
    json.Key("call_id").String(item.call_id).Key("name").String(item.name);
    json.Key("arguments").String(content == Content::kAll ? item.text : std::string());
    json.EndObject();
    return;
  }
  if (item.kind == Kind::kText) json.Key("role").String("assistant");
  if (item.kind == Kind::kReasoning) json.Key("summary").BeginArray().EndArray();
  json.Key("content").BeginArray();
  if (content == Content::kAll) WritePart(item.kind, item.text, json);
  json.EndArray().EndObject();
}

void WriteUsage(const Usage& usage, JsonWriter& json) {
  json.BeginObject().Key("input_tokens").Int(usage.prompt_tokens);
  json.Key("input_tokens_details").BeginObject();
  WriteCachedTokens(usage.cached, json);
  json.EndObject();
  json.Key("output_tokens").Int(usage.completion_tokens);
  json.Key("output_tokens_details").BeginObject();
  json.Key("reasoning_tokens").Int(usage.reasoning_tokens).EndObject();
  json.Key("total_tokens").Int(usage.prompt_tokens + usage.completion_tokens).EndObject();
}

std::string EventText(std::string_view type, JsonWriter& json) {
  json.EndObject();
  return fmt::format("event: {}\ndata: {}\n\n", type, json.Take());
}

}  // namespace

ResponseAnswer::Status ResponseAnswer::StatusOf(const Choice& choice) {
  return *choice.reason == FinishReason::kStop ? Status::kCompleted : Status::kIncomplete;
}

std::string_view ResponseAnswer::Name(Status status) {
  switch (status) {
    case Status::kInProgress: return "in_progress";
    case Status::kCompleted: return "completed";
    case Status::kIncomplete: break;
  }
  return "incomplete";
}

Item ResponseAnswer::NewItem(const ChatPiece& piece, size_t index) const {
  // "resp_0123" has items "msg_0123_0", "fc_0123_1".
  const std::string_view number = std::string_view(frame_.id).substr(frame_.id.find('_') + 1);
  Item item = {.kind = piece.kind,
               .id = fmt::format("{}_{}_{}", NamesOf(piece.kind).id_prefix, number, index)};
  if (piece.kind == Kind::kCall) {
    item.name = piece.text;
    item.call_id = piece.id;
  }
  return item;
}

std::vector<Item> ResponseAnswer::ItemsOf(const Choice& choice) const {
  std::vector<Item> items;
  for (const ChatPiece& piece : PiecesOf(choice)) {
    const bool goes_on =
        !items.empty() && (piece.kind == Kind::kArguments ||
                           (piece.kind != Kind::kCall && items.back().kind == piece.kind));
    if (!goes_on) items.push_back(NewItem(piece, items.size()));
    if (piece.kind != Kind::kCall) items.back().text += piece.text;
  }
  return items;
}

// Only the last item can have been cut.
void ResponseAnswer::WriteResponse(Status status, const std::vector<Item>& items,
                                   const Usage& usage, JsonWriter& json) const {
  json.BeginObject().Key("id").String(frame_.id).Key("object").String("response");
  json.Key("created_at").Int(frame_.created).Key("status").String(Name(status));
  json.Key("error").Null().Key("incomplete_details");
  if (status == Status::kIncomplete)
    json.BeginObject().Key("reason").String("max_output_tokens").EndObject();
  else
    json.Null();
  json.Key("model").String(frame_.model);
  json.Key("system_fingerprint").String(frame_.system_fingerprint);
  json.Key("seed").Int(static_cast<int64_t>(frame_.seed));
  json.Key("output").BeginArray();
  for (size_t i = 0; i < items.size(); ++i)
    WriteItem(items[i], Name(i + 1 == items.size() ? status : Status::kCompleted), Content::kAll,
              json);
  json.EndArray();
  for (const auto& [name, value] : frame_.repeated) json.Key(name).Json(value);
  json.Key("usage");
  if (status == Status::kInProgress)
    json.Null();
  else
    WriteUsage(usage, json);
  json.EndObject();
}

std::vector<std::string> ResponseAnswer::WholeInPieces(const std::vector<Choice>& choices,
                                                       const Usage& usage) const {
  JsonWriter json;
  WriteResponse(StatusOf(choices.at(0)), ItemsOf(choices.at(0)), usage, json);
  return {json.Take()};
}

JsonWriter ResponseAnswer::BeginEvent(std::string_view type) {
  JsonWriter json;
  json.BeginObject().Key("type").String(type).Key("sequence_number").Int(next_number_++);
  return json;
}

// Of the last item.
JsonWriter ResponseAnswer::BeginItemEvent(std::string_view type) {
  JsonWriter json = BeginEvent(type);
  json.Key("output_index").Uint(items_.size() - 1).Key("item_id").String(items_.back().id);
  return json;
}

std::string ResponseAnswer::ResponseEvent(std::string_view type, Status status,
                                          const Usage& usage) {
  JsonWriter json = BeginEvent(type);
  json.Key("response");
  WriteResponse(status, items_, usage, json);
  return EventText(type, json);
}

std::string ResponseAnswer::Begin(const Usage& usage) {
  std::string events = ResponseEvent("response.created", Status::kInProgress, usage);
  return events += ResponseEvent("response.in_progress", Status::kInProgress, usage);
}

std::string ResponseAnswer::Chunk(int64_t, const Choice& choice, Position) {
  std::string events;
  for (const ChatPiece& piece : PiecesOf(choice)) {
    if (piece.kind != Kind::kArguments) events += Open(piece);
    if (piece.kind != Kind::kCall) events += Delta(piece.text);
  }
  return events;
}

// Begins an item, if the one that is open is of another kind.
std::string ResponseAnswer::Open(const ChatPiece& piece) {
  if (is_open_ && piece.kind != Kind::kCall && items_.back().kind == piece.kind) return {};
  std::string events = Close(Status::kCompleted);
  items_.push_back(NewItem(piece, items_.size()));
  is_open_ = true;
  JsonWriter json = BeginEvent("response.output_item.added");
  json.Key("output_index").Uint(items_.size() - 1).Key("item");
  WriteItem(items_.back(), "in_progress", Content::kNone, json);
  events += EventText("response.output_item.added", json);
  if (piece.kind == Kind::kCall) return events;
  json = BeginItemEvent("response.content_part.added");
  json.Key("content_index").Int(0).Key("part");
  WritePart(piece.kind, {}, json);
  return events += EventText("response.content_part.added", json);
}

std::string ResponseAnswer::Delta(const std::string& text) {
  Item& item = items_.back();
  item.text += text;
  const std::string type = fmt::format("response.{}.delta", NamesOf(item.kind).event);
  JsonWriter json = BeginItemEvent(type);
  if (item.kind != Kind::kCall) json.Key("content_index").Int(0);
  if (item.kind == Kind::kText) json.Key("logprobs").BeginArray().EndArray();
  json.Key("delta").String(text);
  return EventText(type, json);
}

// Ends the item that is open.
std::string ResponseAnswer::Close(Status status) {
  if (!std::exchange(is_open_, false)) return {};
  const Item& item = items_.back();
  const Names names = NamesOf(item.kind);
  const std::string type = fmt::format("response.{}.done", names.event);
  JsonWriter json = BeginItemEvent(type);
  if (item.kind == Kind::kCall)
    json.Key("name").String(item.name);
  else
    json.Key("content_index").Int(0);
  if (item.kind == Kind::kText) json.Key("logprobs").BeginArray().EndArray();
  json.Key(names.text).String(item.text);
  std::string events = EventText(type, json);
  if (item.kind != Kind::kCall) {
    json = BeginItemEvent("response.content_part.done");
    json.Key("content_index").Int(0).Key("part");
    WritePart(item.kind, item.text, json);
    events += EventText("response.content_part.done", json);
  }
  json = BeginEvent("response.output_item.done");
  json.Key("output_index").Uint(items_.size() - 1).Key("item");
  WriteItem(item, Name(status), Content::kAll, json);
  return events += EventText("response.output_item.done", json);
}

std::string ResponseAnswer::End(int64_t, const Choice& choice) {
  status_ = StatusOf(choice);
  return Close(status_);
}

std::string ResponseAnswer::Finish(const Usage& usage) {
  return ResponseEvent(fmt::format("response.{}", Name(status_)), status_, usage);
}

std::string ResponseAnswer::Error(const ApiError& error) {
  JsonWriter json = BeginEvent("error");
  json.Key("code").String(error.code.empty() ? ErrorType(error) : error.code);
  json.Key("message").String(error.message).Key("param").Null();
  return EventText("error", json);
}

}  // namespace skald::server
