#include "server/rank_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "server/fields.h"
#include "server/generation_request.h"

namespace skald::server {

namespace {

namespace json = boost::json;

// A text, alone or as {"text": ...}: what Cohere's and Jina's clients send of documents.
const json::string* TextOf(const json::value& value) {
  if (const json::object* object = value.if_object()) {
    const json::value* text = object->if_contains("text");
    return text == nullptr ? nullptr : text->if_string();
  }
  return value.if_string();
}

bool Append(const json::value& value, std::vector<std::string>& texts) {
  const json::string* text = TextOf(value);
  if (text == nullptr || text->empty()) return false;
  texts.emplace_back(*text);
  return true;
}

// A text or an array of them.
void ReadTexts(Fields& fields, std::string_view name, std::vector<std::string>& texts) {
  const json::value* found = fields.Any(name);
  if (found == nullptr)
    return fields.Fail(BadRequest(std::string(name), fmt::format("{} is missing", name)));
  const json::array* list = found->if_array();
  const bool good = list == nullptr
                        ? Append(*found, texts)
                        : !list->empty() && list->size() <= kMaxPairs &&
                              std::all_of(list->begin(), list->end(), [&](const json::value& each) {
                                return Append(each, texts);
                              });
  if (good) return;
  fields.Fail(BadRequest(
      std::string(name),
      fmt::format("{} is {}, expected a text or an array of 1 to {} texts (strings, or objects "
                  "with a string `text`), none of them empty",
                  name, Shown(*found), kMaxPairs)));
}

// What is bounded of all pairs together.
void CheckBytes(Fields& fields, const RankRequest& request, std::string_view name) {
  size_t bytes = 0;
  for (size_t i = 0; i < request.documents.size(); ++i)
    bytes += request.query(i).size() + request.documents[i].size();
  if (bytes <= kMaxPairBytes) return;
  fields.Fail(BadRequest(std::string(name),
                         fmt::format("the pairs have {} bytes of text together, expected at most "
                                     "{}: ask for fewer documents at a time",
                                     bytes, kMaxPairBytes)));
}

// Two names of one thing: TEI's, and that of vLLM for the opposite.
void ReadScale(Fields& fields, RankRequest& request) {
  const bool raw = fields.Bool("raw_scores").value_or(false);
  request.raw_scores = raw || !fields.Bool("use_activation").value_or(true);
}

void ReadCommon(Fields& fields, RankRequest& request) {
  request.model = fields.Text("model", 256).value_or("");
  ReadScale(fields, request);
  if (const auto salt = fields.Text("cache_salt", kMaxSaltBytes)) request.cache_salt = *salt;
  fields.Ignore("user");
  for (const char* name : {"truncate_prompt_tokens", "truncate", "max_tokens_per_doc",
                           "max_chunks_per_doc", "rank_fields", "instruction"})
    fields.Refuse(name);
}

OrError<RankRequest> Finish(Fields& fields, RankRequest request) {
  if (fields.error()) return *fields.error();
  request.ignored = fields.Left();
  return request;
}

}  // namespace

OrError<RankRequest> ReadRerankRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  RankRequest request;
  ReadCommon(fields, request);
  ReadTexts(fields, "query", request.queries);
  if (request.queries.size() > 1)
    fields.Fail(BadRequest("query", "query is an array of several texts, expected one"));
  ReadTexts(fields, "documents", request.documents);
  if (fields.error()) return *fields.error();
  CheckBytes(fields, request, "documents");
  if (const auto top = fields.Int("top_n", {1, std::numeric_limits<int32_t>::max()}))
    request.top = static_cast<size_t>(*top);
  request.return_documents = fields.Bool("return_documents").value_or(false);
  return Finish(fields, std::move(request));
}

OrError<RankRequest> ReadScoreRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  RankRequest request;
  request.answer = RankAnswer::kScores;
  ReadCommon(fields, request);
  ReadTexts(fields, "text_1", request.queries);
  ReadTexts(fields, "text_2", request.documents);
  if (fields.error()) return *fields.error();
  const size_t first = request.queries.size(), second = request.documents.size();
  if (first != 1 && first != second) {
    return BadRequest("text_1", fmt::format("text_1 has {} texts and text_2 {}: expected one in "
                                            "text_1, or as many in both",
                                            first, second));
  }
  CheckBytes(fields, request, "text_2");
  return Finish(fields, std::move(request));
}

}  // namespace skald::server
