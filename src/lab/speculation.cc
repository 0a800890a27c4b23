// What guessing ahead saves, by how far it guesses, and that it changes nothing.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "engine/ask.h"
#include "lab/experiment.h"

namespace skald::lab {
namespace {

// Tokens guessed at a time; 0: nothing is.
constexpr std::array<int64_t, 6> kLengths = {0, 1, 2, 4, 8, 16};

// Who guesses.
struct Guesser {
  Speculation kind;
  std::string_view name;
  FigureMark mark;
};
// The model itself is never wrong: no other guesser can save more passes.
constexpr std::array kGuessers = {
    Guesser{Speculation::kNgram, "n-grams", FigureMark::kComputed},
    Guesser{Speculation::kDraft, "the model itself", FigureMark::kInput},
};

// What an answer took.
struct Cost {
  std::vector<TokenId> tokens = {};
  double tokens_per_pass = 0;
  double rows_per_token = 0;  // of the model that is asked
  double tokens_per_second = 0;
};

Result<Cost> CostOf(const Bench& bench, const Guesser& guesser, int64_t length) {
  EngineOptions options = {.threads = bench.question.threads,
                           .isa = bench.question.isa,
                           .kv_types = bench.question.kv_types,
                           .max_running = 1};
  if (length > 0) {
    options.speculation = {.kind = guesser.kind, .max_draft = length, .min_draft = length};
    if (guesser.kind == Speculation::kDraft) options.speculation.draft = bench.model;
  }
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(bench.model, options));
  const Request request = {.prompt = bench.question.prompt,
                           .sampling = {.temperature = 0},
                           .stop = {.max_tokens = bench.question.max_tokens, .ignore_eos = true}};
  const Stopwatch stopwatch;
  ASSIGN_OR_RETURN(const engine::Asked asked,
                   engine::Ask(engine, request, {.text = false, .logprobs = false}, bench.go_on));
  const double seconds = stopwatch.Seconds();
  const EngineStats stats = engine::StatsWhenIdle(engine);
  const auto tokens = static_cast<double>(asked.transcript.output_tokens);
  // The first token comes with the prompt.
  const auto passes = static_cast<double>(std::max<int64_t>(stats.passes - 1, 1));
  const auto rows = static_cast<double>(stats.rows - stats.prefill_rows);
  return Cost{.tokens = asked.transcript.best().tokens,
              .tokens_per_pass = (tokens - 1) / passes,
              .rows_per_token = rows / std::max(tokens - 1, 1.0),
              .tokens_per_second = tokens / seconds};
}

FigurePanel PanelOf(std::string title, std::string label) {
  FigurePanel panel = {.title = std::move(title),
                       .x = {.label = "tokens guessed at a time"},
                       .y = {.label = std::move(label)}};
  for (const Guesser& guesser : kGuessers) {
    panel.series.push_back({.name = std::string(guesser.name), .mark = guesser.mark});
  }
  return panel;
}

}  // namespace

Result<LabResult> RunSpeculation(const Bench& bench) {
  if (model::StateFloatsOf(bench.network()) > 0) {
    return bench.NotHere(
        "its recurrent layers carry states, which cannot be cut back to the last "
        "right guess, so nothing is guessed");
  }
  FigurePanel passes = PanelOf("Tokens that a pass of the model brings", "tokens a pass");
  FigurePanel rows = PanelOf("Work for them", "rows computed a token");
  FigurePanel speed = PanelOf("Speed", "tokens/s");
  int64_t different = 0;
  std::vector<TokenId> tokens;
  std::string finding;
  for (size_t i = 0; i < kGuessers.size(); ++i) {
    for (const int64_t length : kLengths) {
      ASSIGN_OR_RETURN(const Cost cost, CostOf(bench, kGuessers[i], length));
      if (tokens.empty()) tokens = cost.tokens;
      different += int64_t{cost.tokens != tokens};
      const auto x = static_cast<double>(length);
      passes.series[i].points.push_back({x, cost.tokens_per_pass});
      rows.series[i].points.push_back({x, cost.rows_per_token});
      speed.series[i].points.push_back({x, cost.tokens_per_second});
    }
    const auto& points = passes.series[i].points;
    finding += fmt::format("{}{} {:.2f} with {:.1f} rows a token", i > 0 ? ", " : "",
                           kGuessers[i].name, points.back().y, rows.series[i].points.back().y);
  }
  LabResult result = bench.Begin();
  result.changed = "Tokens are guessed ahead, and several of them checked in one pass";
  result.finding = fmt::format("With {} guesses at a time a pass brings, guessed by {}",
                               kLengths.back(), finding);
  result.is_clean = different == 0;
  result.clean =
      result.is_clean
          ? fmt::format("All {} tokens are the same with every guesser and length", tokens.size())
          : fmt::format("{} runs gave other tokens: the engine itself is broken", different);
  result.panels = {std::move(passes), std::move(rows), std::move(speed)};
  return result;
}

}  // namespace skald::lab
