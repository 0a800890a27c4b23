#include "server/embedding_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "server/fields.h"

namespace skald::server {

namespace {

namespace json = boost::json;

bool IsEmpty(const PromptInput& input) {
  return std::visit([](const auto& list) { return list.empty(); }, input);
}

void ReadForm(Fields& fields, EmbeddingRequest& request) {
  const json::value* found = fields.Any("encoding_format");
  if (found == nullptr) return;
  if (*found == "base64") {
    request.form = VectorForm::kBase64;
  } else if (*found != "float") {
    fields.Fail(
        BadRequest("encoding_format",
                   fmt::format("encoding_format is {}, expected float or base64", Shown(*found))));
  }
}

}  // namespace

void ReadEmbeddingInputs(Fields& fields, std::string_view name, EmbeddingRequest& request) {
  const json::value* found = fields.Any(name);
  if (found == nullptr)
    return fields.Fail(BadRequest(std::string(name), fmt::format("{} is missing", name)));
  auto inputs = ReadPrompts(name, *found, kMaxEmbeddingInputs);
  if (const auto* error = std::get_if<ApiError>(&inputs)) return fields.Fail(*error);
  request.inputs = std::get<std::vector<PromptInput>>(std::move(inputs));
  if (std::any_of(request.inputs.begin(), request.inputs.end(), IsEmpty))
    fields.Fail(BadRequest(std::string(name),
                           fmt::format("{} holds an empty string, which has no embedding", name)));
}

OrError<EmbeddingRequest> ReadEmbeddingRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  EmbeddingRequest request;
  request.model = fields.Text("model", 256).value_or("");
  ReadEmbeddingInputs(fields, "input", request);
  ReadForm(fields, request);
  request.dimensions = fields.Int("dimensions", {1, std::numeric_limits<int32_t>::max()});
  if (const auto salt = fields.Text("cache_salt", kMaxSaltBytes)) request.cache_salt = *salt;
  fields.Ignore("user");
  fields.Refuse("truncate_prompt_tokens");
  if (fields.error()) return *fields.error();
  request.ignored = fields.Left();
  return request;
}

}  // namespace skald::server
