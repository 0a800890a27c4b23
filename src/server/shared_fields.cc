#include "server/shared_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <utility>

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();

void ReadLogitBias(Fields& fields, SamplingParams& params) {
  const json::value* found = fields.Any("logit_bias");
  if (found == nullptr) return;
  const json::object* biases = found->if_object();
  if (biases == nullptr || biases->size() > kMaxLogitBiases)
    return fields.Fail(BadRequest(
        "logit_bias", fmt::format("logit_bias is {}, expected an object of at most {} members",
                                  Shown(*found), kMaxLogitBiases)));
  Fields members(*biases);
  for (const auto& member : *biases) {
    const std::string_view key = member.key();
    TokenId token = kNoToken;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), token);
    const bool is_id = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size();
    const auto bias = members.Number(key, {-100, 100});
    if (!is_id || token < 0 || !bias) {
      return fields.Fail(BadRequest(
          "logit_bias",
          fmt::format(
              "logit_bias has a member that is not \"TOKEN ID\": a number from -100 to 100: {}: {}",
              Shown(json::value(member.key())), Shown(member.value()))));
    }
    params.logit_bias.push_back({token, static_cast<float>(*bias)});
  }
}

void ReadStopTokens(Fields& fields, StopRules& stop) {
  const json::value* found = fields.Any("stop_token_ids");
  if (found == nullptr) return;
  const json::array* list = found->if_array();
  if (list == nullptr || list->size() > kMaxStopTokens || !ReadTokenIds(*list, stop.stop_tokens))
    fields.Fail(BadRequest("stop_token_ids",
                           fmt::format("stop_token_ids is {}, expected an array of at most {} "
                                       "token ids",
                                       Shown(*found), kMaxStopTokens)));
}

void IgnoreAll(Fields& fields, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) fields.Ignore(name);
}

// Texts; those of llama.cpp where the request names none.
std::vector<std::string> ReadDryBreakers(Fields& fields) {
  constexpr std::string_view kName = "dry_sequence_breakers";
  const json::value* found = fields.Any(kName);
  if (found == nullptr) return {"\n", ":", "\"", "*"};
  std::vector<std::string> breakers;
  const auto take = [&](const json::value& value) {
    const json::string* text = value.if_string();
    const bool fits = text != nullptr && !text->empty() && text->size() <= kMaxDryBreakerBytes;
    if (fits) breakers.emplace_back(*text);
    return fits;
  };
  const json::array* list = found->if_array();
  if (list == nullptr || list->size() > kMaxDryBreakers ||
      !std::all_of(list->begin(), list->end(), take))
    fields.Fail(
        BadRequest(std::string(kName),
                   fmt::format("{} is {}, expected an array of at most {} strings of 1 to "
                               "{} bytes",
                               kName, Shown(*found), kMaxDryBreakers, kMaxDryBreakerBytes)));
  return breakers;
}

void ReadDry(Fields& fields, GenerationRequest& request) {
  Dry& dry = request.request.sampling.dry;
  dry.multiplier = fields.Number("dry_multiplier", {0, 100}).value_or(0);
  if (dry.multiplier == 0)
    return IgnoreAll(
        fields, {"dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers"});
  dry.base = fields.Number("dry_base", {1, 100}).value_or(dry.base);
  if (const auto length = fields.Int("dry_allowed_length", {1, kInt32Max}))
    dry.allowed_length = static_cast<int32_t>(*length);
  if (const auto last_n = fields.Int("dry_penalty_last_n", {-1, kInt32Max}))
    dry.last_n = static_cast<int32_t>(*last_n);
  request.dry_breakers = ReadDryBreakers(fields);
}

void ReadMirostat(Fields& fields, Mirostat& mirostat) {
  mirostat.version = static_cast<int32_t>(fields.Int("mirostat", {0, 2}).value_or(0));
  if (mirostat.version == 0) return IgnoreAll(fields, {"mirostat_tau", "mirostat_eta"});
  if (mirostat.version == 1)
    fields.Fail(Unsupported("mirostat",
                            "mirostat is 1, which is not supported by this server: "
                            "expected 2, or 0 for off"));
  mirostat.tau = fields.Number("mirostat_tau", {0, 100}).value_or(mirostat.tau);
  mirostat.eta = fields.Number("mirostat_eta", {0, 10}).value_or(mirostat.eta);
}

}  // namespace

void ReadSamplers(Fields& fields, GenerationRequest& request) {
  SamplingParams& params = request.request.sampling;
  Truncation& truncation = params.truncation;
  // llama.cpp: what is below 0 is off.
  truncation.top_n_sigma = std::max(fields.Number("top_n_sigma", {-1, 100}).value_or(0), 0.0);
  truncation.xtc_probability = fields.Number("xtc_probability", {0, 1}).value_or(0);
  if (truncation.xtc_probability == 0)
    fields.Ignore("xtc_threshold");
  else
    truncation.xtc_threshold =
        fields.Number("xtc_threshold", {0, 1}).value_or(truncation.xtc_threshold);
  DynamicTemperature& dynamic = params.dynamic_temperature;
  dynamic.range = fields.Number("dynatemp_range", {0, 100}).value_or(0);
  if (dynamic.range == 0)
    fields.Ignore("dynatemp_exponent");
  else
    dynamic.exponent = fields.Number("dynatemp_exponent", {0, 100}).value_or(dynamic.exponent);
  ReadMirostat(fields, params.mirostat);
  ReadDry(fields, request);
}

bool ReadTokenIds(const json::array& list, std::vector<TokenId>& tokens) {
  tokens.reserve(list.size());
  return std::all_of(list.begin(), list.end(), [&](const json::value& id) {
    const bool is_id = id.is_int64() && id.get_int64() >= 0 && id.get_int64() <= kInt32Max;
    if (is_id) tokens.push_back(static_cast<TokenId>(id.get_int64()));
    return is_id;
  });
}

void ReadSampling(Fields& fields, SamplingParams& params, const SamplingDefaults& defaults) {
  params.temperature = fields.Number("temperature", {0, 100}).value_or(defaults.temperature);
  // Below the least that the engine takes nothing differs from greedy any more.
  if (params.temperature > 0 && params.temperature < 1e-6) params.temperature = 0;
  Truncation& truncation = params.truncation;
  truncation.top_p = fields.Number("top_p", {0, 1}).value_or(defaults.top_p);
  truncation.top_k = defaults.top_k;
  if (const auto top_k = fields.Int("top_k", {-1, kInt32Max}))
    truncation.top_k = static_cast<int32_t>(std::max<int64_t>(*top_k, 0));  // vLLM: -1 is off
  truncation.min_p = fields.Number("min_p", {0, 1}).value_or(defaults.min_p);
  truncation.typical_p = fields.Number("typical_p", {0, 1}).value_or(1.0);
  Penalties& penalties = params.penalties;
  penalties.last_n = -1;
  penalties.presence = fields.Number("presence_penalty", {-2, 2}).value_or(0.0);
  penalties.frequency = fields.Number("frequency_penalty", {-2, 2}).value_or(0.0);
  const auto llama_cpp_name = fields.Number("repeat_penalty", {0.01, 100});
  penalties.repetition = fields.Number("repetition_penalty", {0.01, 100})
                             .value_or(llama_cpp_name.value_or(defaults.repetition));
}

std::vector<std::string> ReadStopStrings(Fields& fields, std::string_view name) {
  std::vector<std::string> stops;
  const json::value* found = fields.Any(name);
  if (found == nullptr) return stops;
  const auto take = [&](const json::value& value) {
    const json::string* text = value.if_string();
    const bool fits = text != nullptr && !text->empty() && text->size() <= kMaxStopStringBytes;
    if (fits) stops.emplace_back(*text);
    return fits;
  };
  const json::array* list = found->if_array();
  const bool good = list == nullptr ? take(*found)
                                    : list->size() <= kMaxStopStrings &&
                                          std::all_of(list->begin(), list->end(), take);
  if (!good)
    fields.Fail(BadRequest(std::string(name),
                           fmt::format("{} is {}, expected a string of 1 to {} bytes, or "
                                       "an array of at most {} of them",
                                       name, Shown(*found), kMaxStopStringBytes, kMaxStopStrings)));
  return stops;
}

void ReadSharedFields(Fields& fields, GenerationRequest& request) {
  request.model = fields.Text("model", 256).value_or("");
  ReadLogitBias(fields, request.request.sampling);
  // -1 means "draw one" to every server that takes it.
  if (const auto seed = fields.Int("seed", {kInt64Min, kInt64Max}); seed && *seed != -1) {
    request.has_seed = true;
    request.request.sampling.seed = static_cast<uint64_t>(*seed);
  }
  StopRules& stop = request.request.stop;
  ReadStopTokens(fields, stop);
  stop.ignore_eos = fields.Bool("ignore_eos").value_or(false);
  stop.min_tokens = fields.Int("min_tokens", {0, kInt32Max}).value_or(0);
  // vLLM's priority: lower goes first. The engine's is the other way round.
  request.request.priority =
      static_cast<int32_t>(-fields.Int("priority", {-kMaxPriority, kMaxPriority}).value_or(0));
  if (const auto salt = fields.Text("cache_salt", kMaxSaltBytes)) request.cache_salt = *salt;
}

void ReadMembers(Fields& fields, GenerationRequest& request, std::string_view name,
                 const std::function<void(Fields& members)>& read) {
  const json::value* found = fields.Any(name);
  if (found == nullptr) return;
  if (!found->is_object()) return fields.Fail(WrongMember(name, found, "an object"));
  Fields members(found->get_object());
  read(members);
  if (members.error()) {
    ApiError error = *members.error();
    error.param = fmt::format("{}.{}", name, error.param);
    return fields.Fail(std::move(error));
  }
  for (const std::string& left : members.Left()) {
    if (!SaysNo(found->get_object().at(left)))
      request.ignored.push_back(fmt::format("{}.{}", name, left));
  }
}

void CheckMinTokens(Fields& fields, const StopRules& stop) {
  if (stop.max_tokens >= 0 && stop.min_tokens > stop.max_tokens)
    fields.Fail(BadRequest("min_tokens", fmt::format("min_tokens is {}, expected at most the {} "
                                                     "tokens that are asked for at most",
                                                     stop.min_tokens, stop.max_tokens)));
}

OrError<GenerationRequest> FinishReading(Fields& fields, GenerationRequest request) {
  if (fields.error()) return *fields.error();
  for (std::string& name : fields.Left()) request.ignored.push_back(std::move(name));
  return request;
}

}  // namespace skald::server
