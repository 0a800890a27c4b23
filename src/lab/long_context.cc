// What becomes of a model behind the length that it was trained for, and what helps.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "engine/ask.h"
#include "lab/experiment.h"
#include "lab/scores.h"
#include "skald/logits.h"

namespace skald::lab {
namespace {

// The longest text that is read: eight times what the bundled model was trained for.
constexpr int64_t kLongest = 4096;
// Positions of which the mean is a point of the figure.
constexpr int64_t kBucket = 64;
// Texts that are put one behind the other until there are enough tokens.
constexpr int32_t kTexts = 32;

// Models lean on the first positions: on one to four of them, found where this was first seen (Xiao
// et al. 2023).
constexpr int64_t kSinks = 4;

// A way to read on.
struct Way {
  RopeStretch stretch;
  bool is_endless;
  std::string_view name;
  FigureMark mark;
};
constexpr std::array kWays = {
    Way{RopeStretch::kNone, false, "as it is", FigureMark::kFault},
    Way{RopeStretch::kLinear, false, "linear", FigureMark::kComputed},
    Way{RopeStretch::kYarn, false, "yarn", FigureMark::kInput},
    Way{RopeStretch::kNone, true, "endless", FigureMark::kResult},
};

// Texts of the model's own, each within what it was trained for: none of them is hard for it, so
// what makes them hard is where they stand.
Result<std::vector<TokenId>> TextOf(const Bench& bench, int64_t trained, int64_t length) {
  ASSIGN_OR_RETURN(Engine engine, Engine::Create(bench.model, {.context = trained,
                                                               .threads = bench.question.threads,
                                                               .isa = bench.question.isa,
                                                               .kv_positions = kTexts * trained,
                                                               .max_running = kTexts}));
  const Request request = {.prompt = bench.question.prompt,
                           .sampling = {.seed = 1},
                           .stop = {.max_tokens = trained / 2},
                           .n = kTexts};
  ASSIGN_OR_RETURN(const engine::Asked asked,
                   engine::Ask(engine, request, {.text = false, .logprobs = false}, bench.go_on));
  std::vector<TokenId> text;
  for (size_t i = 0; std::ssize(text) < length; ++i) {
    const TranscriptSequence& one =
        asked.transcript.sequences[i % asked.transcript.sequences.size()];
    text.insert(text.end(), request.prompt.begin(), request.prompt.end());
    text.insert(text.end(), one.tokens.begin(), one.tokens.end());
  }
  text.resize(static_cast<size_t>(length));
  return text;
}

// The loss of each token but the first, by the position of the row before it.
Result<std::vector<double>> LossesOf(const Bench& bench, const Model& model,
                                     std::span<const TokenId> text) {
  ASSIGN_OR_RETURN(LogitsSession session,
                   LogitsSession::Create(model, {.context = std::ssize(text),
                                                 .max_chunk = kBucket,
                                                 .threads = bench.question.threads,
                                                 .isa = bench.question.isa}));
  std::vector<double> losses;
  Status status = session.Compute(text, {}, [&](std::span<const float> row) {
    const size_t next = losses.size() + 1;
    if (next % kBucket == 0) RETURN_IF_ERROR(bench.GoOn());
    if (next < text.size()) {
      losses.push_back(-LogProbabilities(row)[static_cast<size_t>(text[next])]);
    }
    return Ok();
  });
  RETURN_IF_ERROR(status);
  return losses;
}

// A context `factor` times as long as the `trained` one.
Result<Model> Prepared(const Bench& bench, const Way& way, int64_t trained, double factor) {
  LoadOptions options = {.path = bench.model.info().path,
                         .threads = bench.question.threads,
                         .conventions = bench.model.info().conventions};
  options.rope = {.stretch = way.stretch};
  if (way.stretch != RopeStretch::kNone) options.rope.factor = factor;
  if (way.is_endless) options.endless = {.sinks = kSinks, .window = trained - kSinks};
  return LoadModel(options);
}

// Of the losses from `first` to in front of `end`.
double MeanOf(const std::vector<double>& losses, int64_t first, int64_t end) {
  double sum = 0;
  end = std::min(end, std::ssize(losses));
  for (int64_t i = first; i < end; ++i) sum += losses[static_cast<size_t>(i)];
  return sum / static_cast<double>(std::max<int64_t>(end - first, 1));
}

std::vector<FigurePoint> InBuckets(const std::vector<double>& losses) {
  std::vector<FigurePoint> points;
  for (int64_t first = 0; first < std::ssize(losses); first += kBucket) {
    points.push_back(
        {static_cast<double>(first) + kBucket / 2.0, MeanOf(losses, first, first + kBucket)});
  }
  return points;
}

}  // namespace

Result<LabResult> RunLongContext(const Bench& bench) {
  if (bench.network().ropes.empty()) return bench.NotHere("its positions turn no heads (no RoPE)");
  const int64_t trained = bench.network().context;
  if (2 * trained > kLongest) {
    return bench.NotHere(
        fmt::format("it was trained for {} positions, and a text of more than "
                    "twice {} is more than this experiment reads",
                    trained, kLongest / 2));
  }
  const int64_t length = std::min(8 * trained, kLongest);
  const double factor = static_cast<double>(length) / static_cast<double>(trained);
  ASSIGN_OR_RETURN(const std::vector<TokenId> text, TextOf(bench, trained, length));
  LabResult result = bench.Begin();
  FigurePanel panel = {
      .title = "Loss of texts of the model's own",
      .x = {.label = "position (tokens)"},
      .y = {.label = "-log p of the next token (nats)"},
      .place = FigurePlace{.x = static_cast<double>(trained), .label = "trained up to here"}};
  std::string within;
  std::string behind;
  for (const Way& way : kWays) {
    ASSIGN_OR_RETURN(const Model model, Prepared(bench, way, trained, factor));
    ASSIGN_OR_RETURN(const std::vector<double> losses, LossesOf(bench, model, text));
    if (way.stretch == RopeStretch::kNone && !way.is_endless) {
      // As the model is read by everybody: a longer context changes nothing within the trained one.
      ASSIGN_OR_RETURN(
          const std::vector<double> short_losses,
          LossesOf(bench, bench.model, std::span(text).first(static_cast<size_t>(trained))));
      result.is_clean = std::equal(short_losses.begin(), short_losses.end(), losses.begin());
    }
    within += fmt::format("{}{:.2f} {}", within.empty() ? "" : ", ", MeanOf(losses, 0, trained - 1),
                          way.name);
    behind += fmt::format("{}{:.2f} {}", behind.empty() ? "" : ", ",
                          MeanOf(losses, trained, length), way.name);
    panel.series.push_back(
        {.name = std::string(way.name), .mark = way.mark, .points = InBuckets(losses)});
  }
  result.changed = fmt::format("A text of {} tokens is read by a model that was trained for {}",
                               length, trained);
  result.finding = fmt::format("Behind position {} a token costs {} (nats); before it {}", trained,
                               behind, within);
  result.clean = result.is_clean
                     ? fmt::format(
                           "Within {} positions the long context gives the bits of the "
                           "short one",
                           trained)
                     : fmt::format(
                           "Within {} positions the long context differs from the short "
                           "one: the engine itself is broken",
                           trained);
  result.panels = {std::move(panel)};
  return result;
}

}  // namespace skald::lab
