#include "cli/bench_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "cli/bench_measure.h"
#include "cli/bench_peer.h"
#include "cli/bench_report.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/kernels_command.h"
#include "cli/loading.h"
#include "cli/parse_number.h"
#include "cli/status_line.h"
#include "skald/bench.h"
#include "skald/model.h"
#include "skald/version.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald bench                              prefill and decode of the bundled model
  skald bench -m model.gguf -b 1,4,16      decode with several sequences at once
  skald bench -m model.gguf -d 0,3072      behind an empty and behind a long context
  skald bench -m model.gguf --profile      where the time goes
  skald bench --kernels                    the kernels of matrices alone, on one core
  skald bench -m model.gguf --traffic shared    32 requests, 16 at a time, a common prefix
  skald bench -m model.gguf --against "llama-bench -fa 1"    in turn with another program

The ceiling of a figure is what the machine could do: the multiply-accumulates of the matrices at
the peak rate of the dot-product instructions in use, or weights and KV at the read bandwidth.
Both are measured before and after each repetition, and every half second of a decode; share is
how much of that was reached, the median of the repetitions with the least and the greatest.
)";

// Bounds that keep typing errors out.
constexpr Range<int64_t> kTokensRange = {0, 1 << 20};
constexpr Range<int64_t> kBatchRange = {1, 4096};
constexpr Range<int64_t> kRepetitionsRange = {1, 10000};

constexpr std::array<Choice<OutputForm>, 2> kForms = {{
    {"md", OutputForm::kText},
    {"json", OutputForm::kJson},
}};

bool GoOn() { return !InterruptScope::Requested(); }

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
  // `trace` may be null.
  Benchmark(const BenchOptions& options, const Model& model, TraceFile* trace, Console& console)
      : options_(options), model_(model), trace_(trace), progress_(console) {}

  // Fills `report`; after an error it holds what was complete.
  Status Run(BenchReport& report) {
    const std::vector<BenchCase> cases = CasesOf(options_.lists);
    if (cases.empty())
      return Status(ErrorCode::kInvalidArgument, "nothing to measure: -p and -n are both 0");
    progress_.Say("measuring the ceilings");
    ASSIGN_OR_RETURN(CeilingMeter ceilings,
                     CeilingMeter::Create(options_.engine.threads, options_.engine.isa));
    ASSIGN_OR_RETURN(
        BenchSession session,
        BenchSession::Create(model_, ToEngineOptions(options_.engine), LimitsOf(cases)));
    StartTrace(session, report.header);
    const BenchMeter meter = MeterOf(ceilings, session, report.header);
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::string label = fmt::format("[{}/{}] {}", i + 1, cases.size(), CaseName(cases[i]));
      ASSIGN_OR_RETURN(BenchResult result, MeasureCase(meter, cases[i], label));
      report.results.push_back(std::move(result));
    }
    if (options_.detail != BenchDetail::kProfile) return Ok();
    return ProfileSteps(session, meter, cases, report);
  }

 private:
  // Every measurement of the ceilings is also kept in the header.
  static BenchMeter MeterOf(CeilingMeter& ceilings, BenchSession& session, BenchHeader& header) {
    return {
        .ceilings = [&ceilings, &header]() -> Result<Ceilings> {
          if (!GoOn()) return Status(ErrorCode::kCancelled, "interrupted");
          header.ceilings.push_back(ceilings.Measure());
          return header.ceilings.back();
        },
        .seconds = [&session](const BenchCase& wanted) { return session.Measure(wanted, GoOn); },
        .work = [&session](const BenchCase& wanted) { return session.WorkOf(wanted); }};
  }

  // Seconds of the prompt, or of one step of a decode.
  Result<double> WarmUp(const BenchMeter& meter, const BenchCase& bench_case) {
    BenchCase warm_up = bench_case;
    warm_up.decode_tokens = std::min<int64_t>(warm_up.decode_tokens, 1);
    return meter.seconds(warm_up);
  }

  Result<BenchResult> MeasureCase(const BenchMeter& meter, const BenchCase& bench_case,
                                  const std::string& label) {
    progress_.Say(label + ", warm-up");
    ASSIGN_OR_RETURN(const double step_seconds, WarmUp(meter, bench_case));
    const std::vector<BenchCase> pieces = PiecesOf(bench_case, StepsOfPiece(step_seconds));
    BenchResult result = {
        .bench_case = bench_case, .work = meter.work(bench_case), .runs = {}, .peer_runs = {}};
    const bool has_peer = options_.against.has_value() && PeerHasCase(bench_case);
    for (int64_t r = 1; r <= options_.repetitions; ++r) {
      progress_.Say(fmt::format("{}, {} of {}", label, r, options_.repetitions));
      ASSIGN_OR_RETURN(Repetition run, MeasureBeside(meter, pieces));
      result.runs.push_back(run);
      TraceRun(bench_case, run.seconds);
      if (!has_peer) continue;
      progress_.Say(fmt::format("{}, {} of {}, peer", label, r, options_.repetitions));
      ASSIGN_OR_RETURN(run, MeasureBeside(PeerMeter(meter, run.ceilings.threads), {bench_case}));
      result.peer_runs.push_back(run);
    }
    return result;
  }

  // The peer in our place: it has the whole case at once.
  BenchMeter PeerMeter(const BenchMeter& meter, int threads) const {
    BenchMeter peer_meter = meter;
    peer_meter.seconds = [peer = Peer{.command = options_.against.value_or(""),
                                      .model_path = model_.info().path,
                                      .threads = threads}](const BenchCase& wanted) {
      return PeerSeconds(peer, wanted);
    };
    return peer_meter;
  }

  static Result<double> PeerSeconds(const Peer& peer, const BenchCase& wanted) {
    const Result<double> rate = RunPeer(peer, wanted);
    if (!GoOn()) return Status(ErrorCode::kCancelled, "interrupted");
    RETURN_IF_ERROR(rate.status());
    return static_cast<double>(TokensOf(wanted)) / *rate;
  }

  void StartTrace(const BenchSession& session, const BenchHeader& header) {
    if (trace_ == nullptr) return;
    TraceHeader first = TraceHeaderOf("bench", model_);
    first.isa = session.isa_name();
    first.threads = session.threads();
    first.kv_type = header.kv_type;
    first.speculation = SpeculationName(Speculation::kOff);
    trace_->Start(std::move(first), model_);
  }

  void TraceRun(const BenchCase& bench_case, double seconds) {
    if (trace_ == nullptr) return;
    trace_->ring()->Append({.seconds = watch_.Seconds(),
                            .body = TraceRepetition{.prompt_tokens = bench_case.prompt_tokens,
                                                    .decode_tokens = bench_case.decode_tokens,
                                                    .batch = bench_case.batch,
                                                    .depth = bench_case.depth,
                                                    .seconds = seconds}});
  }

  // One step of the medians, operation behind operation, in the place of the first of those that
  // were measured: all of them took longer.
  void TraceProfile(const std::vector<ProfileRow>& rows, double seconds) {
    if (trace_ == nullptr) return;
    for (const ProfileRow& row : rows) {
      seconds += row.seconds;
      const double macs = row.work.int8_macs + row.work.bfloat16_macs + row.work.float_macs;
      trace_->ring()->Append({.seconds = seconds,
                              .body = TraceOperation{.operation = TraceName(row.operation),
                                                     .seconds = row.seconds,
                                                     .macs = macs,
                                                     .bytes = row.work.bytes}});
    }
  }

  // One step of each kind of case: the whole prompt, or one token of each sequence.
  Status ProfileSteps(BenchSession& session, const BenchMeter& meter,
                      const std::vector<BenchCase>& cases, BenchReport& report) {
    for (BenchCase step : cases) {
      step.decode_tokens = std::min<int64_t>(step.decode_tokens, 1);
      progress_.Say(fmt::format("profile of {}", CaseName(step)));
      const auto repetitions = static_cast<int>(options_.repetitions);
      ASSIGN_OR_RETURN(const Ceilings before, meter.ceilings());
      const double began = watch_.Seconds();
      ASSIGN_OR_RETURN(std::vector<ProfileRow> rows, session.Profile(step, repetitions, GoOn));
      TraceProfile(rows, began);
      ASSIGN_OR_RETURN(const Ceilings after, meter.ceilings());
      report.profiles.push_back(
          {.bench_case = step, .ceilings = MeanOf(before, after), .rows = std::move(rows)});
    }
    return Ok();
  }

  const BenchOptions& options_;
  const Model& model_;
  TraceFile* const trace_;
  const Stopwatch watch_;  // of the record
  StatusLine progress_;
};

// Whether the options make sense together.
Status CheckTogether(const BenchOptions& options) {
  const bool speculates =
      options.speculation.kind != Speculation::kOff || options.speculation.draft;
  if (speculates && !options.traffic.wanted)
    return Status(ErrorCode::kInvalidArgument, "speculation is measured with --traffic");
  if (options.traffic.disk.folder && !options.traffic.wanted)
    return Status(ErrorCode::kInvalidArgument, "--cache-dir is for --traffic");
  const TrafficKind kind = options.traffic.shape.kind;
  const bool converses =
      options.traffic.wanted && (kind == TrafficKind::kAgent || kind == TrafficKind::kTrace);
  if (options.traffic.compares && !converses) return CompareHasNothing();
  if (options.detail == BenchDetail::kKernels &&
      (options.model.model || options.traffic.wanted || options.against || options.trace.path))
    return Status(ErrorCode::kInvalidArgument,
                  "--kernels measures without a model, a peer and a record: leave out -m, "
                  "--traffic, --against and --trace");
  return Ok();
}

// What is known before a model is loaded.
BenchHeader HeaderOf(const BenchOptions& options) {
  return {.model = {},
          .cpu = CpuNameHere(),
          .cores = AvailableCores(),
          .kv_type = KvTypesName(options.engine.kv_types),
          .date = DateNow(),
          .version = std::string(kVersion),
          .repetitions = options.repetitions,
          .peer = options.against.value_or(""),
          .ceilings = {}};
}

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
  AddSwitch(verb, {"--kernels", "measure the kernels of matrices instead, without a model"},
            options->detail, BenchDetail::kKernels);
  AddText(verb, {"--against", "run this llama-bench in turn and print the ratio"}, kTextType,
          options->against);
  AddTrafficArgs(verb, options->traffic);
  AddSpeculationArgs(verb, options->speculation);
  AddComputeArgs(verb, options->engine);
  AddTraceArgs(verb, options->trace);
  AddOutputArgs(verb, options->output);
  AddChoice(verb, {"-o,--output", "form of the results, as llama-bench (default md)"},
            options->output.form, kForms);
  ChooseWhenParsed(verb, options, Bench, &chosen);
}

Status Bench(const BenchOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  RETURN_IF_ERROR(CheckTogether(options));
  BenchReport report;
  report.header = HeaderOf(options);
  if (options.detail == BenchDetail::kKernels)
    return BenchKernels(options.engine, options.output.form, report.header, console);
  ASSIGN_OR_RETURN(const std::string path, ModelPath(environment, options.model, console));
  ASSIGN_OR_RETURN(const auto trace, TraceFile::Create(options.trace, console));
  ASSIGN_OR_RETURN(const Model model, LoadWithProgress(path, options.engine, console));
  report.header.model = model.info();
  if (options.traffic.wanted) {
    TrafficOptions traffic = options.traffic;
    traffic.trace = trace.get();
    ASSIGN_OR_RETURN(traffic.speculation,
                     LoadSpeculation(options.speculation, environment, options.engine, console));
    return BenchTraffic(traffic, options.engine, options.output.form, model, report.header,
                        console);
  }
  const InterruptScope interrupt;
  const Status status = Benchmark(options, model, trace.get(), console).Run(report);
  if (status.ok() || !report.results.empty()) {
    RETURN_IF_ERROR(console.Write(options.output.form == OutputForm::kJson ? BenchJson(report)
                                                                           : BenchText(report)));
  }
  return status;
}

}  // namespace skald::cli
