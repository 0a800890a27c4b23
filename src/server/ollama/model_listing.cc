#include "server/ollama/model_listing.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>

#include "base/json_writer.h"
#include "server/fields.h"
#include "server/ollama/ollama_answer.h"
#include "server/ollama/ollama_request.h"

namespace skald::server {

namespace {

void WriteDetails(const ModelInfo& info, JsonWriter& json) {
  json.Key("details").BeginObject().Key("parent_model").String("").Key("format").String("gguf");
  json.Key("family").String(info.architecture);
  json.Key("families").BeginArray().String(info.architecture).EndArray();
  json.Key("parameter_size");
  json.String(fmt::format("{:.1f}M", static_cast<double>(info.parameter_count) / 1e6));
  json.Key("quantization_level").String(info.weights_type).EndObject();
}

void WriteModel(const ServedModel& served, JsonWriter& json) {
  const ModelInfo& info = served.model.info();
  json.Key("name").String(served.name).Key("model").String(served.name);
  json.Key("size").Int(info.file_bytes).Key("digest").String(fmt::format("{:016x}", info.identity));
  WriteDetails(info, json);
}

void WriteCapabilities(const ServedModel& served, JsonWriter& json) {
  json.Key("capabilities").BeginArray();
  if (served.model.info().generates) json.String("completion");
  if (served.chat.reads_tools && served.chat.answers.has_calls()) json.String("tools");
  if (served.chat.answers.has_reasoning()) json.String("thinking");
  json.EndArray();
}

}  // namespace

std::string TagsJson(const ServedModel& served, int64_t created) {
  JsonWriter json;
  json.BeginObject().Key("models").BeginArray().BeginObject();
  WriteModel(served, json);
  json.Key("modified_at").String(IsoTime(created)).EndObject().EndArray().EndObject();
  return json.Take();
}

std::string LoadedJson(const ServedModel& served, int64_t created) {
  // It is never unloaded: a year, which clients show as a date.
  constexpr int64_t kYear = 365 * 86400;
  JsonWriter json;
  json.BeginObject().Key("models").BeginArray().BeginObject();
  WriteModel(served, json);
  json.Key("expires_at").String(IsoTime(created + kYear)).Key("size_vram").Int(0);
  json.Key("context_length").Int(served.engine.context()).EndObject().EndArray().EndObject();
  return json.Take();
}

OrError<std::string> AnswerShow(const ServedModel& served, const boost::json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const boost::json::object*>(object));
  const auto older = fields.Text("name", 256);
  const std::string name =
      WithoutLatest(fields.Text("model", 256).value_or(older.value_or(served.name)));
  if (fields.error()) return *fields.error();
  if (!served.IsCalled(name)) return NoSuchModel(served, name);
  const ModelInfo& info = served.model.info();
  JsonWriter json;
  json.BeginObject().Key("modelfile").String("").Key("parameters").String("");
  json.Key("template").String(info.chat_template);
  WriteDetails(info, json);
  json.Key("model_info").BeginObject().Key("general.architecture").String(info.architecture);
  json.Key("general.parameter_count").Int(info.parameter_count);
  json.Key(info.architecture + ".context_length").Int(info.context_length);
  json.Key(info.architecture + ".block_count").Int(info.layer_count);
  json.Key(info.architecture + ".embedding_length").Int(served.engine.embedding_width());
  json.EndObject();
  WriteCapabilities(served, json);
  json.EndObject();
  return json.Take();
}

}  // namespace skald::server
