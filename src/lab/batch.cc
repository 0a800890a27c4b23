// What requests gain by being computed together, what bounds them, and that none hears of another.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/status_macros.h"
#include "engine/ask.h"
#include "lab/experiment.h"
#include "skald/bench.h"

namespace skald::lab {
namespace {

constexpr std::array<int64_t, 6> kBatches = {1, 2, 4, 8, 16, 32};
// Positions before the timed steps, and the steps: long enough for a clock.
constexpr int64_t kDepth = 64;
constexpr int64_t kSteps = 8;
// Of each batch this often; the best counts, because whatever disturbs makes it slower only.
constexpr int kRepetitions = 3;

EngineOptions OptionsOf(const Bench& bench) {
  return {.threads = bench.question.threads,
          .isa = bench.question.isa,
          .kv_types = bench.question.kv_types};
}

// The answer to the question among `count` others, with how probable its tokens were.
Result<Transcript> AnswerAmong(const Bench& bench, int64_t count) {
  EngineOptions options = OptionsOf(bench);
  options.max_running = count + 1;
  options.kv_positions = (count + 1) * kMaxLabTokens;
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(bench.model, options));
  Request request = {.prompt = bench.question.prompt,
                     .sampling = {.temperature = 0, .top_logprobs = 0},
                     .stop = {.max_tokens = bench.question.max_tokens, .ignore_eos = true}};
  for (int64_t i = 0; i < count; ++i) {
    Request other = request;
    std::rotate(other.prompt.begin(), other.prompt.begin() + 1 + i % std::ssize(other.prompt),
                other.prompt.end());
    RETURN_IF_ERROR(engine.Submit(std::move(other), std::make_shared<EventQueue>()).status());
  }
  ASSIGN_OR_RETURN(engine::Asked asked,
                   engine::Ask(engine, std::move(request), {.text = false}, bench.go_on));
  return std::move(asked.transcript);
}

Result<double> BestOf(BenchSession& session, const BenchCase& wanted, const Bench& bench) {
  double best = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    ASSIGN_OR_RETURN(const double seconds, session.Measure(wanted, bench.go_on));
    best = i == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace

Result<LabResult> RunBatch(const Bench& bench) {
  const EngineOptions options = OptionsOf(bench);
  ASSIGN_OR_RETURN(BenchSession session,
                   BenchSession::Create(bench.model, options,
                                        {.batch = kBatches.back(), .positions = kDepth + kSteps}));
  ASSIGN_OR_RETURN(CeilingMeter meter,
                   CeilingMeter::Create(bench.question.threads, bench.question.isa));
  const Ceilings ceilings = meter.Measure();
  FigurePanel speed = {.title = "Tokens a second of all requests together",
                       .x = {.label = "requests in a step", .scale = FigureScale::kLog},
                       .y = {.label = "tokens/s", .scale = FigureScale::kLog},
                       .series = {{.name = "measured", .mark = FigureMark::kComputed},
                                  {.name = "the machine's bound", .mark = FigureMark::kSum}}};
  FigurePanel intensity = {.title = "Operations for each byte from memory",
                           .y = {.label = "FLOP/byte", .scale = FigureScale::kLog},
                           .series = {{.name = "a step", .mark = FigureMark::kInput}}};
  intensity.x = speed.x;  // not in the initializer: gcc 12 fears for the rest if a copy throws
  for (const int64_t batch : kBatches) {
    const BenchCase wanted = {.decode_tokens = kSteps, .batch = batch, .depth = kDepth};
    ASSIGN_OR_RETURN(const double seconds, BestOf(session, wanted, bench));
    const BenchWork work = session.WorkOf(wanted);
    const auto x = static_cast<double>(batch);
    const auto tokens = static_cast<double>(batch * kSteps);
    const double operations = 2 * (work.int8_macs + work.bfloat16_macs + work.float_macs);
    speed.series[0].points.push_back({x, tokens / seconds});
    speed.series[1].points.push_back({x, tokens / BoundOf(work, ceilings).seconds});
    intensity.series[0].points.push_back({x, operations / work.bytes});
  }
  ASSIGN_OR_RETURN(const Transcript alone, AnswerAmong(bench, 0));
  ASSIGN_OR_RETURN(const Transcript crowded, AnswerAmong(bench, 7));
  LabResult result = bench.Begin();
  result.changed = fmt::format("1 to {} requests are computed in the same steps", kBatches.back());
  const auto& points = speed.series[0].points;
  result.finding = fmt::format(
      "{} requests together make {:.3g} tokens/s, one alone {:.3g}: {:.1f} times as many; a byte "
      "from "
      "memory serves {:.0f} operations in place of {:.1f}",
      kBatches.back(), points.back().y, points.front().y, points.back().y / points.front().y,
      intensity.series[0].points.back().y, intensity.series[0].points.front().y);
  result.is_clean = alone.best().tokens == crowded.best().tokens &&
                    alone.best().logprobs == crowded.best().logprobs;
  result.clean = result.is_clean
                     ? "Among seven others a request gets the tokens that it gets alone, with the "
                       "same probabilities to the last bit"
                     : "Among seven others a request gets another answer: the engine itself is "
                       "broken";
  result.panels = {std::move(speed), std::move(intensity)};
  return result;
}

}  // namespace skald::lab
