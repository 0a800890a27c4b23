#include "cli/traffic_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "cli/parse_number.h"

namespace skald::cli {

namespace {

// What a stream of random numbers is for: the sequence of its key.
enum class Draw : uint32_t { kToken, kLength, kArrival };

double Uniform(uint64_t seed, Draw draw, int64_t index) {
  return UniformDouble({.seed = seed,
                        .sequence = static_cast<uint32_t>(draw),
                        .position = static_cast<uint64_t>(index)},
                       0);
}

constexpr uint64_t kPrefixText = 0;                      // the text that all share
constexpr uint64_t kFirstOwnText = 1;                    // of request 0
constexpr uint64_t kFirstBlockText = uint64_t{1} << 40;  // of block 0 of a trace

// Uniform in [1, 2 mean - 1].
int64_t VariedLength(int64_t mean, int64_t index) {
  const double share = Uniform(0, Draw::kLength, index);
  return 1 + static_cast<int64_t>(share * static_cast<double>(2 * mean - 1));
}

std::vector<TrafficRequest> MadeUp(const TrafficShape& shape, int64_t vocab_size) {
  std::vector<TrafficRequest> requests(static_cast<size_t>(shape.num_prompts));
  double now = 0;
  for (int64_t i = 0; i < shape.num_prompts; ++i) {
    TrafficRequest& request = requests[static_cast<size_t>(i)];
    const bool varied = shape.kind == TrafficKind::kRandom;
    if (shape.kind == TrafficKind::kShared)
      AppendRandomText(kPrefixText, shape.prefix_len, vocab_size, &request.prompt);
    const int64_t own = varied ? VariedLength(shape.input_len, 2 * i) : shape.input_len;
    AppendRandomText(kFirstOwnText + static_cast<uint64_t>(i), own, vocab_size, &request.prompt);
    request.output_tokens = varied ? VariedLength(shape.output_len, 2 * i + 1) : shape.output_len;
    request.arrival_seconds = now;
    // Times between arrivals of a Poisson process are exponential.
    if (shape.request_rate > 0)
      now += -std::log1p(-Uniform(0, Draw::kArrival, i)) / shape.request_rate;
  }
  return requests;
}

// The stream that was there first, and the prompt that arrives (when is the runner's business).
std::vector<TrafficRequest> StreamAndIntruder(const TrafficShape& shape, int64_t vocab_size) {
  std::vector<TrafficRequest> requests(2);
  AppendRandomText(kFirstOwnText, 16, vocab_size, &requests[0].prompt);
  requests[0].output_tokens = shape.output_len;
  AppendRandomText(kFirstOwnText + 1, shape.input_len, vocab_size, &requests[1].prompt);
  requests[1].output_tokens = 1;
  return requests;
}

constexpr int64_t kTraceBlock = 512;  // tokens of a block in Mooncake's traces

// What every form of trace says of a request.
struct TraceEntry {
  double seconds = 0;
  int64_t input_length = 0;
  int64_t output_length = 0;
  std::vector<int64_t> blocks;  // names of its blocks, if the trace knows
};

Result<int64_t> Whole(const boost::json::object& object, std::string_view name, int64_t line) {
  const boost::json::value* found = object.if_contains(name);
  if (found == nullptr || !found->is_int64() || found->get_int64() < 0)
    return TraceLineError(line, fmt::format("expected a whole number '{}'", name));
  return found->get_int64();
}

Result<TraceEntry> JsonEntry(std::string_view text, int64_t line) {
  boost::json::error_code error;
  const boost::json::value value =
      boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object())
    return TraceLineError(line, fmt::format("expected a JSON object ({})", error.message()));
  const boost::json::object& object = value.get_object();
  TraceEntry entry;
  ASSIGN_OR_RETURN(const int64_t milliseconds, Whole(object, "timestamp", line));
  entry.seconds = static_cast<double>(milliseconds) / 1000;
  ASSIGN_OR_RETURN(entry.input_length, Whole(object, "input_length", line));
  ASSIGN_OR_RETURN(entry.output_length, Whole(object, "output_length", line));
  const boost::json::value* ids = object.if_contains("hash_ids");
  if (ids == nullptr) return entry;
  if (!ids->is_array()) return TraceLineError(line, "expected a list 'hash_ids'");
  for (const boost::json::value& id : ids->get_array()) {
    if (!id.is_int64()) return TraceLineError(line, "expected whole numbers in 'hash_ids'");
    entry.blocks.push_back(id.get_int64());
  }
  return entry;
}

// Seconds of the day in "2023-11-16 18:15:46.6805900".
std::optional<double> SecondsOfDay(std::string_view time) {
  const size_t space = time.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view clock = time.substr(space + 1);
  if (clock.size() < 8 || clock[2] != ':' || clock[5] != ':') return std::nullopt;
  const Result<int64_t> hours = ParseInt<int64_t>(clock.substr(0, 2), {0, 23});
  const Result<int64_t> minutes = ParseInt<int64_t>(clock.substr(3, 2), {0, 59});
  const Result<double> seconds = ParseDouble(clock.substr(6));
  if (!hours.ok() || !minutes.ok() || !seconds.ok()) return std::nullopt;
  return static_cast<double>(*hours * 3600 + *minutes * 60) + *seconds;
}

Result<TraceEntry> CsvEntry(std::string_view text, int64_t line) {
  const size_t first = text.find(',');
  const size_t second = first == std::string_view::npos ? first : text.find(',', first + 1);
  if (second == std::string_view::npos) return TraceLineError(line, "expected three columns");
  constexpr Range<int64_t> kLengths = {0, int64_t{1} << 30};
  const std::optional<double> seconds = SecondsOfDay(text.substr(0, first));
  const Result<int64_t> input =
      ParseInt<int64_t>(text.substr(first + 1, second - first - 1), kLengths);
  const Result<int64_t> output = ParseInt<int64_t>(text.substr(second + 1), kLengths);
  if (!seconds || !input.ok() || !output.ok())
    return TraceLineError(line, "expected 'date time,prompt tokens,answer tokens'");
  return TraceEntry{
      .seconds = *seconds, .input_length = *input, .output_length = *output, .blocks = {}};
}

TrafficRequest ToRequest(const TraceEntry& entry, const TrafficShape& shape, int64_t index,
                         int64_t vocab_size) {
  TrafficRequest request;
  const int64_t length = std::max<int64_t>(1, entry.input_length / shape.trace_scale);
  const int64_t block = std::max<int64_t>(1, kTraceBlock / shape.trace_scale);
  for (const int64_t name : entry.blocks) {
    AppendRandomText(kFirstBlockText + static_cast<uint64_t>(name), block, vocab_size,
                     &request.prompt);
  }
  const int64_t named = std::min(length, static_cast<int64_t>(request.prompt.size()));
  request.prompt.resize(static_cast<size_t>(named));
  AppendRandomText(kFirstOwnText + static_cast<uint64_t>(index), length - named, vocab_size,
                   &request.prompt);
  request.output_tokens = std::max<int64_t>(1, entry.output_length / shape.trace_scale);
  request.arrival_seconds = entry.seconds / static_cast<double>(shape.trace_scale);
  return request;
}

}  // namespace

void AppendRandomText(uint64_t seed, int64_t count, int64_t vocab_size,
                      std::vector<TokenId>* tokens) {
  const int64_t first = vocab_size > 1024 ? 512 : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double share = Uniform(seed, Draw::kToken, i);
    const double range = static_cast<double>(vocab_size - first);
    tokens->push_back(static_cast<TokenId>(first + static_cast<int64_t>(share * range)));
  }
}

Result<std::vector<TrafficRequest>> ParseTrace(std::string_view text, const TrafficShape& shape,
                                               int64_t vocab_size) {
  std::vector<TrafficRequest> requests;
  const bool is_json = text.starts_with('{');
  for (int64_t line = 1; !text.empty(); ++line) {
    if (static_cast<int64_t>(requests.size()) == shape.num_prompts) break;
    const std::string_view content = TakeLine(&text);
    if (content.empty() || (!is_json && line == 1)) continue;
    ASSIGN_OR_RETURN(const TraceEntry entry,
                     is_json ? JsonEntry(content, line) : CsvEntry(content, line));
    const auto index = static_cast<int64_t>(requests.size());
    requests.push_back(ToRequest(entry, shape, index, vocab_size));
  }
  if (requests.empty()) return Status(ErrorCode::kInvalidArgument, "the trace has no request");
  SortByArrival(&requests);
  return requests;
}

std::vector<TrafficRequest> MakeTraffic(const TrafficShape& shape, int64_t vocab_size) {
  switch (shape.kind) {
    case TrafficKind::kIntruder: return StreamAndIntruder(shape, vocab_size);
    case TrafficKind::kTrace:
    case TrafficKind::kChats:
    case TrafficKind::kAgent: UNREACHABLE();
    case TrafficKind::kShared:
    case TrafficKind::kRandom: break;
  }
  return MadeUp(shape, vocab_size);
}

std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Status TraceLineError(int64_t line, const std::string& problem) {
  return Status(ErrorCode::kInvalidArgument, fmt::format("trace, line {}: {}", line, problem));
}

void SortByArrival(std::vector<TrafficRequest>* requests) {
  if (requests->empty()) return;
  std::ranges::stable_sort(*requests, {}, &TrafficRequest::arrival_seconds);
  const double start = requests->front().arrival_seconds;
  for (TrafficRequest& request : *requests) request.arrival_seconds -= start;
}

}  // namespace skald::cli
