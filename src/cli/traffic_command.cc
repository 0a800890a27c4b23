#include "cli/traffic_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/traffic_chat.h"
#include "cli/traffic_report.h"
#include "cli/traffic_run.h"
#include "skald/bench.h"

namespace skald::cli {

namespace {

constexpr const char* kGroup = "Traffic";
constexpr Range<int64_t> kCountRange = {1, 1 << 20};
constexpr Range<int64_t> kTokensRange = {1, 1 << 20};

bool GoOn() { return !InterruptScope::Requested(); }

// The longest request, what they hold together if nothing is shared, and how many may wait.
// Requests of a trace beyond the model's context are left out, for the engine will refuse them; who
// asks for a length by name gets it.
struct Sizes {
  int64_t longest = 0;
  int64_t together = 0;
  int64_t count = 0;
};

Sizes SizesOf(const std::vector<TrafficRequest>& requests, int64_t context_max) {
  Sizes sizes = {.count = static_cast<int64_t>(requests.size())};
  for (const TrafficRequest& request : requests) {
    const int64_t length = static_cast<int64_t>(request.prompt.size()) + request.output_tokens;
    if (length > context_max) continue;  // will be refused
    sizes.longest = std::max(sizes.longest, length);
    sizes.together += length;
  }
  return sizes;
}

// The memory that is read for it is given back while the requests run.
Result<Ceilings> CeilingsNow(const EngineArgs& args) {
  ASSIGN_OR_RETURN(CeilingMeter meter, CeilingMeter::Create(args.threads, args.isa));
  return meter.Measure();
}

// Everything computed of prompts in one go, then the answers with all places taken, each under its
// ceiling.
Result<double> BoundSeconds(const Model& model, const EngineArgs& args, const TrafficShape& shape,
                            const TrafficOutcome& outcome, const Ceilings& ceilings) {
  if (outcome.records.empty()) return 0.0;
  const auto count = static_cast<int64_t>(outcome.records.size());
  int64_t computed = 0;
  int64_t longest_answer = 1;
  int64_t answers = 0;
  for (const TrafficRecord& record : outcome.records) {
    const auto answer = static_cast<int64_t>(record.token_seconds.size());
    computed += record.prompt_tokens - record.cached_tokens;
    answers += answer;
    longest_answer = std::max(longest_answer, answer);
  }
  const int64_t batch = std::min(shape.max_concurrency, count);
  ASSIGN_OR_RETURN(BenchSession session, BenchSession::Create(model, ToEngineOptions(args),
                                                              {.batch = 1, .positions = 32}));
  const BenchWork prefill =
      session.WorkOf({.prompt_tokens = std::max<int64_t>(1, computed / count)});
  const BenchWork decode = session.WorkOf({.decode_tokens = 1, .batch = batch});
  const double steps = static_cast<double>(answers) / static_cast<double>(batch);
  // The weights of a prompt's pass are read once for many prompts: arithmetic alone counts.
  const BenchWork arithmetic = {.int8_macs = prefill.int8_macs * static_cast<double>(count),
                                .bfloat16_macs = prefill.bfloat16_macs * static_cast<double>(count),
                                .float_macs = prefill.float_macs * static_cast<double>(count)};
  return BoundOf(arithmetic, ceilings).seconds + steps * BoundOf(decode, ceilings).seconds;
}

// An engine that holds such requests.
Result<Engine> MakeEngine(const TrafficOptions& options, const EngineArgs& args, const Model& model,
                          const Sizes& sizes) {
  EngineOptions engine_options = ToEngineOptions(args);
  engine_options.speculation = options.speculation;
  engine_options.context = std::max<int64_t>(1, sizes.longest);
  engine_options.max_running = std::min<int64_t>(options.shape.max_concurrency, 256);
  engine_options.max_queued = std::max<int64_t>(1, sizes.count);
  engine_options.kv_positions =
      std::max(engine_options.context,
               options.cache_tokens > 0
                   ? options.cache_tokens
                   : std::min(sizes.together, sizes.longest * 2 * engine_options.max_running));
  ASSIGN_OR_RETURN(engine_options.disk, OpenDisk(options.disk));
  if (options.trace == nullptr) return Engine::Create(model, engine_options);
  engine_options.trace = options.trace->ring();
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(model, engine_options));
  options.trace->Start(TraceHeaderOf("bench", model, engine, engine_options), model);
  return engine;
}

Status RunRequests(const TrafficOptions& options, const EngineArgs& args, const Model& model,
                   const std::vector<TrafficRequest>& requests, TrafficReport* report) {
  const TrafficShape& shape = options.shape;
  const Sizes sizes =
      SizesOf(requests, shape.kind == TrafficKind::kTrace ? model.info().context_length
                                                          : std::numeric_limits<int64_t>::max());
  ASSIGN_OR_RETURN(Engine engine, MakeEngine(options, args, model, sizes));
  if (shape.kind == TrafficKind::kIntruder) {
    ASSIGN_OR_RETURN(IntruderOutcome outcome, RunIntruder(engine, requests, GoOn));
    report->gaps_alone = GapsOf(outcome.alone.records.at(0));
    report->gaps_during = std::move(outcome.gaps_during);
    report->outcome = std::move(outcome.disturbed);
    return Ok();
  }
  ASSIGN_OR_RETURN(report->outcome, RunTraffic(engine, requests, shape.max_concurrency, GoOn));
  return Ok();
}

// On an engine that has seen nothing, and has no folder.
Status CompareWithNothingCached(TrafficOptions options, const EngineArgs& args, const Model& model,
                                const Sizes& sizes, const AgentOutcome& outcome) {
  options.disk = {};
  options.trace = nullptr;
  ASSIGN_OR_RETURN(Engine engine, MakeEngine(options, args, model, sizes));
  ASSIGN_OR_RETURN(const auto differs, FirstThatDiffers(engine, outcome, GoOn));
  if (!differs) return Ok();
  return Status(ErrorCode::kNumeric,
                fmt::format("request {} has another answer with nothing cached", *differs + 1));
}

// What the rows of a conversation say; and its answers once more, if that is wanted.
Status Report(const TrafficOptions& options, const EngineArgs& args, const Model& model,
              const Sizes& sizes, AgentOutcome outcome, TrafficReport* report) {
  if (options.compares)
    RETURN_IF_ERROR(CompareWithNothingCached(options, args, model, sizes, outcome));
  report->compared = options.compares;
  report->outcome = std::move(outcome.traffic);
  report->agent_rows = std::move(outcome.rows);
  return Ok();
}

// The cache has room for four of the longest, as a server's has.
Status RunChats(TrafficOptions options, const EngineArgs& args, const Model& model, ChatTrace chats,
                TrafficReport* report) {
  TrafficShape& shape = options.shape;
  shape.kind = TrafficKind::kChats;
  shape.num_prompts = std::ssize(chats.requests);
  if (!chats.has_times) shape.max_concurrency = 1;
  report->shape = shape;
  const Sizes sizes = SizesOf(chats.requests, model.info().context_length);
  if (options.cache_tokens == 0) options.cache_tokens = 4 * sizes.longest;
  std::optional<AgentOutcome> outcome;
  {
    ASSIGN_OR_RETURN(Engine engine, MakeEngine(options, args, model, sizes));
    ASSIGN_OR_RETURN(outcome,
                     RunRecorded(engine, std::move(chats.requests), shape.max_concurrency, GoOn));
  }
  return Report(options, args, model, sizes, *std::move(outcome), report);
}

Status RunTrace(const TrafficOptions& options, const EngineArgs& args, const Model& model,
                TrafficReport* report) {
  const TrafficShape& shape = options.shape;
  ASSIGN_OR_RETURN(const std::string text, ReadInput(shape.trace_path));
  if (IsChatTrace(text)) {
    ASSIGN_OR_RETURN(ChatTrace chats, ParseChatTrace(text, shape, model));
    return RunChats(options, args, model, std::move(chats), report);
  }
  if (options.compares) return CompareHasNothing();
  ASSIGN_OR_RETURN(const auto requests, ParseTrace(text, shape, model.tokenizer().vocab_size()));
  return RunRequests(options, args, model, requests, report);
}

Status RunConversation(const TrafficOptions& options, const EngineArgs& args, const Model& model,
                       TrafficReport* report) {
  AgentConversation conversation(options.shape, model.tokenizer().vocab_size());
  const int64_t longest = conversation.longest();
  // Twice: side questions and what was edited stay beside the conversation.
  const Sizes sizes = {.longest = longest, .together = 2 * longest, .count = 3};
  std::optional<AgentOutcome> outcome;
  {
    ASSIGN_OR_RETURN(Engine engine, MakeEngine(options, args, model, sizes));
    ASSIGN_OR_RETURN(outcome, RunAgent(engine, std::move(conversation), GoOn));
  }
  return Report(options, args, model, sizes, *std::move(outcome), report);
}

Status RunKind(const TrafficOptions& options, const EngineArgs& args, const Model& model,
               TrafficReport* report) {
  const TrafficShape& shape = options.shape;
  if (shape.kind == TrafficKind::kAgent) return RunConversation(options, args, model, report);
  if (shape.kind == TrafficKind::kTrace) return RunTrace(options, args, model, report);
  return RunRequests(options, args, model, MakeTraffic(shape, model.tokenizer().vocab_size()),
                     report);
}

Result<TrafficReport> Run(const TrafficOptions& options, const EngineArgs& args, const Model& model,
                          BenchHeader header) {
  const TrafficShape& shape = options.shape;
  header.repetitions = 0;
  ASSIGN_OR_RETURN(const Ceilings before, CeilingsNow(args));
  TrafficReport report{.header = std::move(header), .shape = shape, .outcome = {}};
  RETURN_IF_ERROR(RunKind(options, args, model, &report));
  ASSIGN_OR_RETURN(const Ceilings after, CeilingsNow(args));
  report.header.ceilings = {before, after};
  if (shape.kind != TrafficKind::kIntruder) {
    ASSIGN_OR_RETURN(report.bound_seconds, BoundSeconds(model, args, report.shape, report.outcome,
                                                        MeanOf(before, after)));
  }
  return report;
}

// What agents send: instructions and tools, results of tools, thoughts and calls.
void SetAgentSizes(TrafficShape* shape) {
  shape->num_prompts = 40;
  shape->prefix_len = 6000;
  shape->input_len = 150;
  shape->output_len = 80;
}

}  // namespace

void AddTrafficArgs(CLI::App& app, TrafficOptions& options) {
  AddValue(app,
           {"--traffic",
            "run requests through the engine: shared|random|intruder|agent, or the file of a trace "
            "or of chats"},
           "KIND",
           [&options](const std::string& value) {
             options.wanted = true;
             TrafficShape& shape = options.shape;
             shape.trace_path = value;
             shape.kind = value == "shared"     ? TrafficKind::kShared
                          : value == "random"   ? TrafficKind::kRandom
                          : value == "intruder" ? TrafficKind::kIntruder
                          : value == "agent"    ? TrafficKind::kAgent
                                                : TrafficKind::kTrace;
             // Flags take their values in the order in which they were added: those below it win.
             if (shape.kind == TrafficKind::kAgent) SetAgentSizes(&shape);
             return Ok();
           })
      .Group(kGroup);
  TrafficShape& shape = options.shape;
  const auto add = [&app](const FlagText& text, int64_t& target, Range<int64_t> range) {
    AddInt<int64_t>(app, text, target, range).Group(kGroup);
  };
  add({"--num-prompts", "requests; turns of 'agent' (default 32; 40)"}, shape.num_prompts,
      kCountRange);
  add({"--prefix-len",
       "tokens that all prompts of 'shared' and 'agent' begin with (default 400; "
       "6000)"},
      shape.prefix_len, {0, 1 << 20});
  add({"--input-len", "tokens of each prompt's own (default 48; 150)"}, shape.input_len,
      kTokensRange);
  add({"--output-len", "tokens of each answer (default 48; 80)"}, shape.output_len, kTokensRange);
  add({"--max-concurrency", "requests under way at once (default 16)"}, shape.max_concurrency,
      {1, 256});
  add({"--trace-scale", "divide the lengths and times of a trace (default 1)"}, shape.trace_scale,
      {1, 512});
  add({"--cache-tokens", "positions of the KV cache (default: enough)"}, options.cache_tokens,
      {1, int64_t{1} << 30});
  AddDiskArgs(app, kGroup, options.disk);
  AddSwitch(
      app,
      {"--compare",
       "ask everything of 'agent' or of chats again with nothing cached, and compare answers"},
      options.compares, true)
      .Group(kGroup);
  AddDouble(app, {"--request-rate", "arrivals a second, at random (default 0: all at once)"},
            shape.request_rate)
      .Group(kGroup);
}

Status CompareHasNothing() {
  return Status(ErrorCode::kInvalidArgument, "--compare is for --traffic agent and for chats");
}

Status BenchTraffic(const TrafficOptions& options, const EngineArgs& engine, OutputForm form,
                    const Model& model, BenchHeader header, Console& console) {
  if (options.shape.request_rate < 0)
    return Status(ErrorCode::kInvalidArgument, "--request-rate is below 0");
  const InterruptScope interrupt;
  ASSIGN_OR_RETURN(const TrafficReport report, Run(options, engine, model, std::move(header)));
  return console.Write(form == OutputForm::kJson ? TrafficJson(report) : TrafficText(report));
}

}  // namespace skald::cli
