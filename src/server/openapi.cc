#include "server/openapi.h"

#include "base/json_writer.h"
#include "server/route_table.h"

namespace skald::server {

namespace {

void WriteContent(std::string_view media, std::string_view schema, JsonWriter& json) {
  json.Key(media).BeginObject().Key("schema").BeginObject();
  if (!schema.empty()) json.Key("$ref").String("#/components/schemas/" + std::string(schema));
  json.EndObject().EndObject();
}

void WriteRequest(const RouteRow& row, JsonWriter& json) {
  json.Key("requestBody").BeginObject().Key("required").Bool(true).Key("content").BeginObject();
  WriteContent("application/json", row.request, json);
  json.EndObject().EndObject();
}

void WriteResponses(const RouteRow& row, JsonWriter& json) {
  json.Key("responses").BeginObject().Key("200").BeginObject();
  json.Key("description").String(row.summary).Key("content").BeginObject();
  WriteContent(row.answer.empty() ? row.media : "application/json", row.answer, json);
  // Its parts are told in docs/server.md and docs/apis.md: OpenAPI has no words for them.
  if (!row.stream.empty()) WriteContent(row.stream, {}, json);
  json.EndObject().EndObject().Key("default").BeginObject();
  json.Key("description").String("A refusal, in the form of the API").Key("content").BeginObject();
  WriteContent("application/json", "Error", json);
  json.EndObject().EndObject().EndObject();
}

void WriteRoute(const RouteRow& row, JsonWriter& json) {
  const bool takes_body = row.body == RouteBody::kJson;
  json.Key(row.path).BeginObject().Key(takes_body ? "post" : "get").BeginObject();
  json.Key("summary").String(row.summary);
  if (row.path.ends_with("{id}"))
    json.Key("parameters")
        .Json(R"([{"name":"id","in":"path","required":true,"schema":{"type":"string"}}])");
  if (takes_body) WriteRequest(row, json);
  WriteResponses(row, json);
  json.EndObject().EndObject();
}

// Either, or none where the server has no keys.
constexpr std::string_view kSecurity = R"([{"bearer":[]},{"field":[]},{}])";
constexpr std::string_view kSchemes =
    R"({"bearer":{"type":"http","scheme":"bearer"},)"
    R"("field":{"type":"apiKey","in":"header","name":"x-api-key"}})";

}  // namespace

std::string OpenApiText(std::string_view version) {
  JsonWriter json;
  json.BeginObject().Key("openapi").String("3.1.0");
  json.Key("info").BeginObject().Key("title").String("skald").Key("version").String(version);
  json.EndObject().Key("security").Json(kSecurity);
  json.Key("paths").BeginObject();
  for (const RouteRow& row : RouteTable()) WriteRoute(row, json);
  json.EndObject().Key("components").BeginObject().Key("securitySchemes").Json(kSchemes);
  json.Key("schemas").BeginObject();
  for (const NamedSchema& schema : OpenApiSchemas()) json.Key(schema.name).Json(schema.json);
  json.EndObject().EndObject().EndObject();
  return json.Take();
}

}  // namespace skald::server
