#include "cli/plan_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/model_lookup.h"
#include "cli/output_file.h"
#include "cli/plan_report.h"
#include "cli/rope_args.h"
#include "cli/show_command.h"
#include "skald/model.h"
#include "skald/plan.h"
#include "skald/roofline.h"

namespace skald::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  skald plan                                   the bundled model on this machine
  skald plan -m model.gguf --memory 24G        how many requests fit
  skald plan llama-3-8b --weights Q4_K_M       a published shape, no file at all
  skald plan gpt-oss-20b --machine h100 -b 1,8,64 -d 1024
  skald plan llama-2-7b --bandwidth 100 --peak 2 --json
  skald plan llama-3-8b --machine h200 --svg roofline.svg
  skald plan llama-3-70b --weights Q4_K_M --machine xeon6 --ranks 4 --network 10gbe

MODEL may be a GGUF file (its header is read), a folder with a config.json or that file alone, or
the name of a published shape. Nothing is downloaded. Docs: docs/plan.md.
)";

constexpr const char* kPlanGroup = "What is planned";
constexpr Range<int64_t> kTokensRange = {0, 1 << 20};
constexpr Range<int64_t> kBatchRange = {1, 1 << 14};

void AddList(CLI::App& app, const FlagText& text, std::vector<int64_t>& target,
             Range<int64_t> range) {
  AddValue(app, text, "LIST", [&target, range](const std::string& value) {
    ASSIGN_OR_RETURN(target, ParseIntList(value, range));
    return Ok();
  }).Group(kPlanGroup);
}

std::string ShapeNames() {
  std::string names;
  for (const NamedShape& shape : NamedShapes())
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  return names;
}

bool IsShape(const std::string& name) {
  const std::vector<NamedShape> shapes = NamedShapes();
  return std::any_of(shapes.begin(), shapes.end(),
                     [&](const NamedShape& shape) { return shape.name == name; });
}

std::string ModelName(const ModelArgs& args) {
  return args.word.value_or(args.model.value_or(std::string(kBundledModel)));
}

// A model that would have to be fetched is not: a plan is for before that.
Result<ModelShape> FindShape(const PlanOptions& options, const Environment& environment,
                             ShapeOptions wanted = {}) {
  const ModelArgs& args = options.model;
  if (args.model.has_value() && args.word.has_value())
    return Status(ErrorCode::kInvalidArgument, "two models: give MODEL or -m MODEL, not both");
  const std::string name = ModelName(args);
  wanted.weights = options.weights.value_or("");
  wanted.endless = options.engine.endless;
  if (IsShape(name)) return NamedModelShape(name, wanted);
  Result<std::string> path = FindModel(environment, name);
  if (path.ok()) return ReadModelShape(*path, wanted);
  return Status(path.status().code(),
                fmt::format("{}; published shapes: {}", path.status().message(), ShapeNames()));
}

std::vector<BenchCase> CasesOf(const PlanOptions& options, const EnginePlan& engine) {
  const int64_t half = engine.context / 2;
  const int64_t prompt =
      options.prompt_tokens >= 0 ? options.prompt_tokens : std::min<int64_t>(512, half);
  std::vector<int64_t> depths = options.depths;
  if (depths.empty()) depths = {0, half};
  std::vector<BenchCase> cases;
  for (const int64_t depth : depths) {
    if (prompt > 0) cases.push_back({.prompt_tokens = prompt, .depth = depth});
    for (const int64_t batch : options.batches)
      cases.push_back({.decode_tokens = 1, .batch = batch, .depth = depth});
  }
  return cases;
}

EngineOptions OptionsOf(const PlanOptions& options) {
  EngineOptions engine = ToEngineOptions(options.engine);
  engine.max_running = options.max_running;
  engine.kv_positions = options.kv_positions;
  return engine;
}

Status AddCapacity(const ModelShape& shape, EngineOptions engine, PlanReport* report) {
  for (const int64_t context : ContextsToShow(shape.info().context)) {
    engine.context = context;
    const Result<int64_t> requests = RequestsThatFit(shape, engine, report->machine.memory_bytes);
    // A context that an engine cannot have at all.
    if (!requests.ok() && requests.status().code() == ErrorCode::kInvalidArgument) continue;
    RETURN_IF_ERROR(requests.status());
    report->capacity.push_back({context, *requests});
    EngineOptions alone = engine;
    alone.max_running = 1;
    alone.kv_positions = 0;
    ASSIGN_OR_RETURN(const EnginePlan one, PlanEngine(shape, alone));
    report->contexts.push_back({context, one.memory.kv});
  }
  return Ok();
}

Result<RankLink> FindLink(const std::string& name) {
  std::string names;
  for (const RankLink& link : RankLinks()) {
    if (link.name == name) return link;
    names += (names.empty() ? "" : ", ") + std::string(link.name);
  }
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("--network {}: expected one of {}", name, names));
}

Status AddRanks(const PlanOptions& options, const Environment& environment, const ModelShape& shape,
                PlanReport* report) {
  ASSIGN_OR_RETURN(const RankLink link, FindLink(options.network.value_or("shared-memory")));
  if (options.ranks == 1) return Ok();
  const EngineOptions engine = OptionsOf(options);
  const RanksWanted wanted = {.whole = shape,
                              .engine = engine,
                              .machine = report->machine,
                              .link = link,
                              .ranks = options.ranks};
  const auto find = [&](int rank) {
    return FindShape(options, environment, {.ranks = options.ranks, .rank = rank});
  };
  ASSIGN_OR_RETURN(report->ranks, PlanRanks(wanted, CasesOf(options, report->engine), find));
  return Ok();
}

// The command that stands below the drawing. Sizes and lists are left out: its marks name them.
std::string CommandOf(const PlanOptions& options) {
  std::string command = "skald plan " + ModelName(options.model);
  if (options.weights) command += " --weights " + *options.weights;
  if (options.machine.machine) command += " --machine " + *options.machine.machine;
  if (options.machine.bandwidth > 0)
    command += fmt::format(" --bandwidth {:g}", options.machine.bandwidth);
  if (options.machine.peak > 0) command += fmt::format(" --peak {:g}", options.machine.peak);
  return command + " --svg " + options.svg.value_or("-");
}

Status Draw(const PlanOptions& options, const PlanReport& report) {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(*options.svg));
  RETURN_IF_ERROR(file.Write(RooflineSvg({.shape = report.shape,
                                          .machine = report.machine,
                                          .forecasts = report.forecasts,
                                          .command = CommandOf(options)})));
  return file.Commit();
}

}  // namespace

void AddPlanCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(
      root, {"plan", "Say what a model would take and how fast it could be, on paper", kExamples});
  const auto options = std::make_shared<PlanOptions>();
  AddModelArgs(verb, options->model);
  AddModelWord(verb, options->model);
  AddText(verb,
          {"--weights", "types of the weights: F16, Q8_0, Q4_K_M, ... (default the model's own)"},
          "TYPE", options->weights)
      .Group(kPlanGroup);
  AddInt<int64_t>(verb, {"--parallel,--max-running", "sequences computed together (default 16)"},
                  options->max_running, {1, 1 << 14})
      .Group(kPlanGroup);
  AddInt<int64_t>(verb, {"--kv-positions", "tokens of KV cache in all; 0 = one context"},
                  options->kv_positions, {0, int64_t{1} << 40})
      .Group(kPlanGroup);
  AddInt<int64_t>(
      verb,
      {"-p,--n-prompt", "tokens of a prefill; 0 = none (default 512, at most half a context)"},
      options->prompt_tokens, kTokensRange)
      .Group(kPlanGroup);
  AddList(verb, {"-b,--batch", "sequences of a decode step (default 1,4,16,64)"}, options->batches,
          kBatchRange);
  AddList(verb, {"-d,--depth", "tokens that are there before (default 0 and half a context)"},
          options->depths, kTokensRange);
  AddInt<int>(verb, {"--ranks", "machines that the model is split among, as this one (default 1)"},
              options->ranks, {1, kMaxRanks})
      .Group(kPlanGroup);
  AddText(verb,
          {"--network",
           "between ranks: shared-memory, 100gbe-rdma, 25gbe, 10gbe, 1gbe (default "
           "shared-memory)"},
          "NAME", options->network)
      .Group(kPlanGroup);
  AddText(verb, {"--svg", "draw the roofline with a dot for each test; - is stdout"}, kFileType,
          options->svg)
      .Group(kPlanGroup);
  AddMachineArgs(verb, options->machine);
  AddSizeArgs(verb, options->engine);
  AddEndlessArg(verb, options->engine.endless);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Plan, &chosen);
}

Status Plan(const PlanOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  ASSIGN_OR_RETURN(const ModelShape shape, FindShape(options, environment));
  const EngineOptions engine = OptionsOf(options);
  PlanReport report = {.shape = shape.info(),
                       .kv_type = KvTypesName(engine.kv_types),
                       .groups = shape.KvGroups(engine.kv_types)};
  ASSIGN_OR_RETURN(report.engine, PlanEngine(shape, engine));
  ASSIGN_OR_RETURN(report.machine, FindMachine(options.machine, options.engine, console));
  RETURN_IF_ERROR(AddCapacity(shape, engine, &report));
  for (const BenchCase& bench_case : CasesOf(options, report.engine)) {
    ASSIGN_OR_RETURN(Forecast forecast, ForecastOf(shape, engine, report.machine, bench_case));
    report.forecasts.push_back(forecast);
  }
  RETURN_IF_ERROR(AddRanks(options, environment, shape, &report));
  if (options.svg) {
    RETURN_IF_ERROR(Draw(options, report));
    if (*options.svg == "-") return Ok();
  }
  return console.Write(options.output.form == OutputForm::kJson ? PlanJson(report)
                                                                : PlanText(report));
}

}  // namespace skald::cli
