#include "server/llama_cpp/infill_answer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "server/cached_tokens.h"

namespace skald::server {

namespace {

// Its name, and its value as JSON.
using Member = std::pair<std::string, std::string>;
using Members = std::vector<Member>;

std::string Text(std::string_view text) {
  JsonWriter json;
  json.String(text);
  return json.Take();
}

std::string Tiers(const CachedTokens& cached) {
  JsonWriter json;
  WriteTiers(cached, json);
  return json.Take();
}

std::string Number(int64_t number) { return std::to_string(number); }

std::string Number(double number) {
  JsonWriter json;
  json.Double(number);
  return json.Take();
}

std::string ObjectOf(const Members& members) {
  JsonWriter json;
  json.BeginObject();
  for (const auto& [name, value] : members) json.Key(name).Json(value);
  json.EndObject();
  return json.Take();
}

const std::string* Find(const Members& members, std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

// Of prompt tokens, those that were computed.
Members TimingsOf(const Usage& usage) {
  const auto rate = [](int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  };
  const auto each = [](int64_t tokens, double seconds) {
    return tokens > 0 ? seconds * 1000 / static_cast<double>(tokens) : 0;
  };
  const int64_t computed = usage.prompt_tokens - usage.cached.total();
  const int64_t output = usage.completion_tokens;
  return {{"cache_n", Number(usage.cached.total())},
          {"prompt_n", Number(computed)},
          {"prompt_ms", Number(usage.prompt_seconds * 1000)},
          {"prompt_per_token_ms", Number(each(computed, usage.prompt_seconds))},
          {"prompt_per_second", Number(rate(computed, usage.prompt_seconds))},
          {"predicted_n", Number(output)},
          {"predicted_ms", Number(usage.output_seconds * 1000)},
          {"predicted_per_token_ms", Number(each(output, usage.output_seconds))},
          {"predicted_per_second", Number(rate(output, usage.output_seconds))}};
}

std::string_view StopType(const Choice& choice) {
  if (EndedByItself(choice)) return "eos";
  return choice.stop_string ? "word" : "limit";
}

Members MembersOf(const AnswerFrame& frame, const Choice& choice, const Usage& usage) {
  return {{"index", "0"},
          {"content", Text(choice.text)},
          {"stop", "true"},
          {"model", Text(frame.model)},
          {"tokens_predicted", Number(usage.completion_tokens)},
          {"tokens_evaluated", Number(usage.prompt_tokens)},
          {"tokens_cached", Number(usage.cached.total())},
          {"cached_tokens_details", Tiers(usage.cached)},
          {"truncated", "false"},
          {"stop_type", Text(StopType(choice))},
          {"stopping_word", Text(choice.stop_string.value_or(""))},
          {"seed", Number(static_cast<int64_t>(frame.seed))},
          {"system_fingerprint", Text(frame.system_fingerprint)}};
}

// What the request asks for, by the names it gives.
Members Chosen(const std::vector<std::string>& names, const Members& members,
               const Members& timings) {
  constexpr std::string_view kTimings = "timings/";
  Members chosen;
  for (const std::string& name : names) {
    const bool is_timing = name.starts_with(kTimings);
    const std::string* found = is_timing
                                   ? Find(timings, std::string_view(name).substr(kTimings.size()))
                                   : Find(members, name);
    if (found != nullptr && Find(chosen, name) == nullptr) chosen.emplace_back(name, *found);
  }
  return chosen;
}

}  // namespace

std::string InfillAnswer::Object(const Choice& choice, const Usage& usage) const {
  const Members timings = TimingsOf(usage);
  Members members = MembersOf(frame_, choice, usage);
  members.emplace_back("timings", ObjectOf(timings));
  if (frame_.only_members.empty()) return ObjectOf(members);
  return ObjectOf(Chosen(frame_.only_members, members, timings));
}

std::vector<std::string> InfillAnswer::WholeInPieces(const std::vector<Choice>& choices,
                                                     const Usage& usage) const {
  return {Object(choices.front(), usage)};
}

std::string InfillAnswer::Chunk(int64_t, const Choice& choice, Position) {
  return "data: " + ObjectOf({{"index", "0"}, {"content", Text(choice.text)}, {"stop", "false"}}) +
         "\n\n";
}

std::string InfillAnswer::End(int64_t, const Choice& choice) {
  ended_ = {.reason = choice.reason, .stop_string = choice.stop_string};
  return {};
}

std::string InfillAnswer::Finish(const Usage& usage) {
  return "data: " + Object(ended_, usage) + "\n\n";
}

std::string InfillAnswer::Error(const ApiError& error) { return "data: " + ToJson(error) + "\n\n"; }

}  // namespace skald::server
