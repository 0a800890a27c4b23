#include "server/llama_cpp/infill_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/fields.h"
#include "server/grammar_source.h"
#include "server/known_fields.h"
#include "server/shared_fields.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxTextBytes = size_t{64} << 20;  // a body is smaller
constexpr SamplingDefaults kDefaults = {
    .temperature = 0.8, .top_p = 0.95, .top_k = 40, .min_p = 0.05};
constexpr int64_t kPenaltyWindow = 64;

// Bounds by the clock and by the indentation of lines, and the order of filters: editors send them
// with every request. The same request has the same answer here, whatever the time it takes.
constexpr std::string_view kNotKept[] = {"t_max_prompt_ms", "t_max_predict_ms", "n_indent",
                                         "samplers"};

void ReadSettings(Fields& fields, GenerationRequest& request) {
  SamplingParams& sampling = request.request.sampling;
  ReadSampling(fields, sampling, kDefaults);
  ReadSamplers(fields, request);
  sampling.penalties.last_n =
      static_cast<int32_t>(fields.Int("repeat_last_n", {-1, kInt32Max}).value_or(kPenaltyWindow));
  ReadSharedFields(fields, request);
  // 0: the prompt is computed, so that it is cached for the next request.
  if (const auto most = fields.Int("n_predict", {-1, kInt32Max}))
    request.request.stop.max_tokens = *most;
  CheckMinTokens(fields, request.request.stop);
  request.stop_strings = ReadStopStrings(fields, "stop");
  request.grammar = ReadGrammarSource(fields);
}

// A text that must be there, be it empty.
std::string NeededText(Fields& fields, std::string_view name) {
  auto text = fields.Text(name, kMaxTextBytes);
  if (!text) fields.Fail(BadRequest(std::string(name), fmt::format("{} is missing", name)));
  return std::move(text).value_or(std::string());
}

// {"text", "filename"}.
bool ReadFile(const json::value& value, std::vector<NamedText>& files) {
  const json::object* object = value.if_object();
  if (object == nullptr) return false;
  const json::value* text = object->if_contains("text");
  const json::value* name = object->if_contains("filename");
  if (text == nullptr || !text->is_string()) return false;
  if (name != nullptr && !name->is_null() && !name->is_string()) return false;
  const bool is_named = name != nullptr && name->is_string();
  files.push_back({.name = is_named ? std::string(name->get_string()) : "tmp",
                   .text = std::string(text->get_string())});
  return true;
}

std::vector<NamedText> ReadFiles(Fields& fields) {
  std::vector<NamedText> files;
  const json::value* found = fields.Any("input_extra");
  if (found == nullptr) return files;
  const json::array* list = found->if_array();
  if (list == nullptr || list->size() > kMaxInfillFiles ||
      !std::all_of(list->begin(), list->end(),
                   [&](const json::value& each) { return ReadFile(each, files); }))
    fields.Fail(WrongMember(
        "input_extra", found,
        fmt::format("an array of at most {} objects with a text, and perhaps a filename",
                    kMaxInfillFiles)));
  return files;
}

std::vector<std::string> ReadResponseFields(Fields& fields) {
  std::vector<std::string> names;
  const json::value* found = fields.Any("response_fields");
  if (found == nullptr) return names;
  const auto take = [&](const json::value& each) {
    const json::string* name = each.if_string();
    const bool fits = name != nullptr && name->size() <= kMaxResponseFieldBytes;
    if (fits) names.emplace_back(*name);
    return fits;
  };
  const json::array* list = found->if_array();
  if (list == nullptr || list->size() > kMaxResponseFields ||
      !std::all_of(list->begin(), list->end(), take))
    fields.Fail(WrongMember("response_fields", found,
                            fmt::format("an array of at most {} names of at most {} bytes",
                                        kMaxResponseFields, kMaxResponseFieldBytes)));
  return names;
}

}  // namespace

OrError<GenerationRequest> ReadInfillRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  GenerationRequest request;
  request.style = AnswerStyle::kInfill;
  request.stream = fields.Bool("stream").value_or(false);
  ReadSettings(fields, request);
  // The prompt is what has been typed of the line with the gap.
  std::string before = NeededText(fields, "input_prefix");
  before += fields.Text("prompt", kMaxTextBytes).value_or("");
  request.prompts.emplace_back(std::move(before));
  request.gap = GapInput{.field = "input_suffix",
                         .behind = NeededText(fields, "input_suffix"),
                         .files = ReadFiles(fields)};
  request.only_members = ReadResponseFields(fields);
  for (const std::string_view name : kNotKept) {
    const json::value* found = fields.Any(name);
    if (found != nullptr && !SaysNo(*found)) request.ignored.emplace_back(name);
  }
  TakeKnownFields(fields, FieldScope::kOther);
  return FinishReading(fields, std::move(request));
}

}  // namespace skald::server
