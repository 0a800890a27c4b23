// What filters keep out, by temperature: how varied the answers are, and how unlikely the model
// itself finds them.

#include <fmt/format.h>

#include <array>
#include <set>

#include "base/status_macros.h"
#include "engine/ask.h"
#include "lab/experiment.h"

namespace skald::lab {
namespace {

constexpr std::array kTemperatures = {0.0, 0.5, 1.0, 1.5, 2.0};
// Answers to the same prompt, and how long they are at most.
constexpr int32_t kAnswers = 8;
constexpr int64_t kMostTokens = 32;

struct Filter {
  std::string_view name;
  Truncation truncation;
  FigureMark mark;
};
constexpr Truncation kOff = {.top_k = 0, .top_p = 1, .min_p = 0};
constexpr std::array kFilters = {
    Filter{"none", kOff, FigureMark::kFault},
    Filter{"top-k 40", {.top_k = 40, .top_p = 1, .min_p = 0}, FigureMark::kComputed},
    Filter{"top-p 0.9", {.top_k = 0, .top_p = 0.9, .min_p = 0}, FigureMark::kResult},
    Filter{"min-p 0.1", {.top_k = 0, .top_p = 1, .min_p = 0.1}, FigureMark::kInput},
};

struct Answers {
  double distinct_pairs = 0;  // of all pairs of neighbours, the share that is different
  double surprise = 0;        // nats a token under the model's own distribution
  size_t distinct_texts = 0;
};

Result<Answers> AnswersOf(const Bench& bench, Engine& engine, const Filter& filter,
                          double temperature) {
  Request request = {
      .prompt = bench.question.prompt,
      .sampling = {.temperature = temperature,
                   .truncation = filter.truncation,
                   .seed = 1,
                   .top_logprobs = 0},
      .stop = {.max_tokens = std::min(bench.question.max_tokens, kMostTokens), .ignore_eos = true},
      .n = kAnswers};
  ASSIGN_OR_RETURN(const engine::Asked asked,
                   engine::Ask(engine, std::move(request), {.text = false}, bench.go_on));
  std::set<std::pair<TokenId, TokenId>> pairs;
  std::set<std::vector<TokenId>> texts;
  int64_t pair_count = 0;
  int64_t token_count = 0;
  Answers answers;
  for (const TranscriptSequence& sequence : asked.transcript.sequences) {
    texts.insert(sequence.tokens);
    for (size_t i = 0; i < sequence.tokens.size(); ++i) {
      answers.surprise -= sequence.logprobs[i];
      ++token_count;
      if (i == 0) continue;
      pairs.emplace(sequence.tokens[i - 1], sequence.tokens[i]);
      ++pair_count;
    }
  }
  answers.distinct_texts = texts.size();
  answers.surprise /= static_cast<double>(token_count);
  answers.distinct_pairs =
      pair_count == 0 ? 0 : static_cast<double>(pairs.size()) / static_cast<double>(pair_count);
  return answers;
}

FigurePanel PanelOf(std::string title, std::string label) {
  FigurePanel panel = {
      .title = std::move(title), .x = {.label = "temperature"}, .y = {.label = std::move(label)}};
  for (const Filter& filter : kFilters) {
    panel.series.push_back({.name = std::string(filter.name), .mark = filter.mark});
  }
  return panel;
}

}  // namespace

Result<LabResult> RunSampling(const Bench& bench) {
  ASSIGN_OR_RETURN(Engine engine,
                   Engine::Create(bench.model, {.threads = bench.question.threads,
                                                .isa = bench.question.isa,
                                                .kv_types = bench.question.kv_types,
                                                .kv_positions = 2 * kMaxLabTokens * kAnswers,
                                                .max_running = kAnswers}));
  FigurePanel variety = PanelOf("How varied answers are", "different pairs of tokens, of all");
  FigurePanel surprise = PanelOf("How unlikely the model finds them", "-log p of a token (nats)");
  LabResult result = bench.Begin();
  result.is_clean = true;
  for (size_t i = 0; i < kFilters.size(); ++i) {
    for (const double temperature : kTemperatures) {
      ASSIGN_OR_RETURN(const Answers answers, AnswersOf(bench, engine, kFilters[i], temperature));
      variety.series[i].points.push_back({temperature, answers.distinct_pairs});
      surprise.series[i].points.push_back({temperature, answers.surprise});
      if (temperature == 0 && answers.distinct_texts != 1) result.is_clean = false;
    }
    // Greedy: no filter has anything to say.
    if (surprise.series[i].points.front().y != surprise.series[0].points.front().y) {
      result.is_clean = false;
    }
  }
  result.changed = fmt::format(
      "{} answers to the same prompt are drawn with each filter and "
      "temperature",
      kAnswers);
  const auto last = kTemperatures.size() - 1;
  result.finding = fmt::format(
      "At temperature {} a token costs {:.2f} nats without a filter, {:.2f} with {}, {:.2f} with "
      "{} "
      "and {:.2f} with {}",
      kTemperatures[last], surprise.series[0].points[last].y, surprise.series[1].points[last].y,
      kFilters[1].name, surprise.series[2].points[last].y, kFilters[2].name,
      surprise.series[3].points[last].y, kFilters[3].name);
  result.clean = result.is_clean ? "At temperature 0 all answers are the same, whatever the filter"
                                 : "At temperature 0 answers differ: the engine itself is broken";
  result.panels = {std::move(variety), std::move(surprise)};
  return result;
}

}  // namespace skald::lab
