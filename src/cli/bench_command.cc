#include "cli/bench_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "cli/bench_peer.h"
#include "cli/bench_report.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/parse_number.h"
#include "skald/bench.h"
#include "skald/model.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald bench                              prefill and decode of the bundled model
  skald bench -m model.gguf -b 1,4,16      decode with several sequences at once
  skald bench -m model.gguf -d 0,3072      behind an empty and behind a long context
  skald bench -m model.gguf --profile      where the time goes
  skald bench -m model.gguf --traffic shared    32 requests, 16 at a time, a common prefix
  skald bench -m model.gguf --against "llama-bench -fa 1"    in turn with another program

The ceiling of a figure is what the machine could do: the multiply-accumulates of the matrices at
the peak rate of the dot-product instructions in use, or weights and KV at the read bandwidth,
both measured in the same run; share is how much of that was reached.
)";

// Bounds that keep typing errors out.
constexpr Range<int64_t> kTokensRange = {0, 1 << 20};
constexpr Range<int64_t> kBatchRange = {1, 4096};
constexpr Range<int64_t> kRepetitionsRange = {1, 10000};

constexpr std::string_view kEraseLine = "\r\x1b[K";

constexpr std::array<Choice<OutputForm>, 2> kForms = {{
    {"md", OutputForm::kText},
    {"json", OutputForm::kJson},
}};

// A transient line on the terminal; nothing elsewhere.
class Progress {
 public:
  explicit Progress(Console& console) : console_(console) {}
  ~Progress() { console_.Decorate(kEraseLine); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Say(const std::string& what) { console_.Decorate(fmt::format("{}{}", kEraseLine, what)); }

 private:
  Console& console_;
};

bool GoOn() { return !InterruptScope::Requested(); }

std::string CpuNameHere() {
  std::ifstream file("/proc/cpuinfo");
  return CpuName(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string DateNow() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now));
}

void AddList(CLI::App& app, const FlagText& text, std::vector<int64_t>& target,
             Range<int64_t> range) {
  AddValue(app, text, "LIST", [&target, range](const std::string& value) {
    Result<std::vector<int64_t>> list = ParseIntList(value, range);
    if (list.ok()) target = *list;
    return std::move(list).status();
  });
}

// One run of the command, after loading.
class Benchmark {
 public:
  Benchmark(const BenchOptions& options, const Model& model, Console& console)
      : options_(options), model_(model), progress_(console) {}

  // Fills `report`; after an error it holds what was complete.
  Status Run(BenchReport& report) {
    const std::vector<BenchCase> cases = CasesOf(options_.lists);
    if (cases.empty())
      return Status(ErrorCode::kInvalidArgument, "nothing to measure: -p and -n are both 0");
    progress_.Say("measuring the ceilings");
    ASSIGN_OR_RETURN(report.header.ceilings, Ceiling());
    ASSIGN_OR_RETURN(
        BenchSession session,
        BenchSession::Create(model_, ToEngineOptions(options_.engine), LimitsOf(cases)));
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::string label = fmt::format("[{}/{}] {}", i + 1, cases.size(), CaseName(cases[i]));
      ASSIGN_OR_RETURN(BenchResult result, MeasureCase(session, cases[i], label));
      report.results.push_back(std::move(result));
    }
    if (options_.detail == BenchDetail::kProfile) {
      RETURN_IF_ERROR(ProfileSteps(session, cases, report));
    }
    progress_.Say("measuring the ceilings again");
    ASSIGN_OR_RETURN(const Ceilings again, Ceiling());
    report.header.ceilings = BestOf(report.header.ceilings, again);
    return Ok();
  }

 private:
  Result<Ceilings> Ceiling() const {
    if (!GoOn()) return Status(ErrorCode::kCancelled, "interrupted");
    return MeasureCeilings(options_.engine.threads, options_.engine.isa);
  }

  Result<BenchResult> MeasureCase(BenchSession& session, const BenchCase& bench_case,
                                  const std::string& label) {
    progress_.Say(label + ", warm-up");
    BenchCase warm_up = bench_case;
    warm_up.decode_tokens = std::min<int64_t>(warm_up.decode_tokens, 1);
    RETURN_IF_ERROR(session.Measure(warm_up, GoOn).status());
    BenchResult result = {.bench_case = bench_case,
                          .work = session.WorkOf(bench_case),
                          .tokens_per_second = {},
                          .peer_tokens_per_second = {}};
    const bool has_peer = options_.against.has_value() && PeerHasCase(bench_case);
    const Peer peer = {.command = options_.against.value_or(""),
                       .model_path = model_.info().path,
                       .threads = session.threads()};
    for (int64_t r = 1; r <= options_.repetitions; ++r) {
      progress_.Say(fmt::format("{}, {} of {}", label, r, options_.repetitions));
      ASSIGN_OR_RETURN(const double seconds, session.Measure(bench_case, GoOn));
      result.tokens_per_second.push_back(static_cast<double>(TokensOf(bench_case)) / seconds);
      if (!has_peer) continue;
      progress_.Say(fmt::format("{}, {} of {}, peer", label, r, options_.repetitions));
      const Result<double> rate = RunPeer(peer, bench_case);
      if (!GoOn()) return Status(ErrorCode::kCancelled, "interrupted");
      RETURN_IF_ERROR(rate.status());
      result.peer_tokens_per_second.push_back(*rate);
    }
    return result;
  }

  // One step of each kind of case: the whole prompt, or one token of each sequence.
  Status ProfileSteps(BenchSession& session, const std::vector<BenchCase>& cases,
                      BenchReport& report) {
    for (BenchCase step : cases) {
      step.decode_tokens = std::min<int64_t>(step.decode_tokens, 1);
      progress_.Say(fmt::format("profile of {}", CaseName(step)));
      const auto repetitions = static_cast<int>(options_.repetitions);
      ASSIGN_OR_RETURN(std::vector<ProfileRow> rows, session.Profile(step, repetitions, GoOn));
      report.profiles.push_back({.bench_case = step, .rows = std::move(rows)});
    }
    return Ok();
  }

  const BenchOptions& options_;
  const Model& model_;
  Progress progress_;
};

}  // namespace

void AddBenchCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(
      root, {"bench", "Measure the speed of a model beside the machine's ceilings", kExamples});
  const auto options = std::make_shared<BenchOptions>();
  AddModelArgs(verb, options->model);
  AddList(verb, {"-p,--n-prompt", "prompt tokens of a prefill; 0 = none (default 512)"},
          options->lists.prompt_tokens, kTokensRange);
  AddList(verb, {"-n,--n-gen", "tokens of a decode; 0 = none (default 128)"},
          options->lists.decode_tokens, kTokensRange);
  AddList(verb, {"-b,--batch", "sequences decoded at once (default 1)"}, options->lists.batches,
          kBatchRange);
  AddList(verb, {"-d,--n-depth", "tokens in the cache before (default 0)"}, options->lists.depths,
          kTokensRange);
  AddInt<int64_t>(verb, {"-r,--repetitions", "runs of each test (default 5)"}, options->repetitions,
                  kRepetitionsRange);
  AddSwitch(verb, {"--profile", "also measure the operations of a step"}, options->detail,
            BenchDetail::kProfile);
  AddText(verb, {"--against", "run this llama-bench in turn and print the ratio"}, kTextType,
          options->against);
  AddTrafficArgs(verb, options->traffic);
  AddSpeculationArgs(verb, options->speculation);
  AddComputeArgs(verb, options->engine);
  AddOutputArgs(verb, options->output);
  AddChoice(verb, {"-o,--output", "form of the results, as llama-bench (default md)"},
            options->output.form, kForms);
  ChooseWhenParsed(verb, options, Bench, &chosen);
}

Status Bench(const BenchOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  const bool speculates =
      options.speculation.kind != Speculation::kOff || options.speculation.draft;
  if (speculates && !options.traffic.wanted)
    return Status(ErrorCode::kInvalidArgument, "speculation is measured with --traffic");
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));
  BenchReport report;
  report.header = {.model = model.info(),
                   .cpu = CpuNameHere(),
                   .cores = AvailableCores(),
                   .kv_type = std::string(KvTypeName(options.engine.kv_type)),
                   .date = DateNow(),
                   .version = SKALD_VERSION,
                   .repetitions = options.repetitions,
                   .peer = options.against.value_or(""),
                   .ceilings = {}};
  if (options.traffic.wanted) {
    TrafficOptions traffic = options.traffic;
    ASSIGN_OR_RETURN(traffic.speculation,
                     LoadSpeculation(options.speculation, environment, options.engine, console));
    return BenchTraffic(traffic, options.engine, options.output.form, model, report.header,
                        console);
  }
  const InterruptScope interrupt;
  const Status status = Benchmark(options, model, console).Run(report);
  if (status.ok() || !report.results.empty()) {
    RETURN_IF_ERROR(console.Write(options.output.form == OutputForm::kJson ? BenchJson(report)
                                                                           : BenchText(report)));
  }
  return status;
}

}  // namespace skald::cli
