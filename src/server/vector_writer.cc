#include "server/vector_writer.h"

#include "server/cached_tokens.h"

namespace skald::server {

void AddModel(const VectorFrame& frame, JsonWriter& json) {
  json.Key("model").String(frame.model);
  json.Key("system_fingerprint").String(frame.fingerprint);
}

void AddUsage(const VectorFrame& frame, JsonWriter& json) {
  json.Key("usage").BeginObject().Key("prompt_tokens").Int(frame.prompt_tokens);
  json.Key("total_tokens").Int(frame.prompt_tokens);
  json.Key("prompt_tokens_details").BeginObject();
  WriteCachedTokens(frame.cached, json);
  json.EndObject().EndObject();
}

}  // namespace skald::server
