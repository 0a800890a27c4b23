// What a cache saves, and that it changes nothing: the same answer with it and without.

#include <fmt/format.h>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "lab/answer.h"
#include "lab/experiment.h"
#include "lab/scores.h"

namespace skald::lab {
namespace {

// An answer token by token: what each took, and the row that it was drawn from.
struct Course {
  std::vector<TokenId> tokens;
  Rows rows = {};                      // of each token of the answer
  std::vector<FigurePoint> work = {};  // rows computed so far, by tokens of the answer
  std::vector<FigurePoint> time = {};  // milliseconds of each token
};

enum class Cache : uint8_t { kKept, kNone };

Result<Course> Follow(const Bench& bench, Cache cache) {
  Course course = {.tokens = bench.question.prompt};
  int64_t computed = 0;
  std::optional<Reading> reading;
  for (int64_t i = 0; i < bench.question.max_tokens; ++i) {
    RETURN_IF_ERROR(bench.GoOn());
    if (!reading || cache == Cache::kNone) {
      ASSIGN_OR_RETURN(
          reading, Reading::Create(bench.model.transformer(), bench.machine, TotalOf(bench), {}));
    }
    const auto have = static_cast<size_t>(reading->position());
    const Stopwatch stopwatch;
    std::vector<float> row;
    reading->Append(std::span(course.tokens).subspan(have), [&row](std::span<const float> logits) {
      row.assign(logits.begin(), logits.end());
    });
    const auto x = static_cast<double>(i + 1);
    course.time.push_back({x, 1e3 * stopwatch.Seconds()});
    computed += std::ssize(course.tokens) - static_cast<int64_t>(have);
    course.work.push_back({x, static_cast<double>(computed)});
    course.tokens.push_back(Likeliest(row));
    course.rows.push_back(std::move(row));
  }
  return course;
}

FigurePanel PanelOf(std::string title, FigureAxis y, std::vector<FigurePoint> without,
                    std::vector<FigurePoint> with) {
  return {.title = std::move(title),
          .x = {.label = "tokens of the answer"},
          .y = std::move(y),
          .series = {
              {.name = "without a cache", .mark = FigureMark::kFault, .points = std::move(without)},
              {.name = "with it", .mark = FigureMark::kInput, .points = std::move(with)}}};
}

}  // namespace

Result<LabResult> RunWithoutCache(const Bench& bench) {
  ASSIGN_OR_RETURN(Course with, Follow(bench, Cache::kKept));
  ASSIGN_OR_RETURN(Course without, Follow(bench, Cache::kNone));
  int64_t different = 0;
  for (size_t i = 0; i < with.rows.size(); ++i) {
    different += int64_t{with.rows[i] != without.rows[i]};
  }
  LabResult result = bench.Begin();
  result.changed = "Each token of the answer computes the whole text before it again";
  const double ratio = without.work.back().y / with.work.back().y;
  result.finding = fmt::format(
      "An answer of {} tokens behind a prompt of {} takes {:.0f} rows without a cache and {:.0f} "
      "with it, {:.1f} times as many; the last token {:.3g} ms in place of {:.3g}",
      bench.question.max_tokens, result.prompt_tokens, without.work.back().y, with.work.back().y,
      ratio, without.time.back().y, with.time.back().y);
  result.is_clean = different == 0;
  result.clean = result.is_clean
                     ? fmt::format(
                           "All {} tokens come from the same bits either way: a cache saves "
                           "work and changes nothing",
                           with.rows.size())
                     : fmt::format("{} of {} rows differ: the engine itself is broken", different,
                                   with.rows.size());
  result.panels = {PanelOf("Work until a token", {.label = "rows computed"},
                           std::move(without.work), std::move(with.work)),
                   PanelOf("Time of a token", {.label = "milliseconds"}, std::move(without.time),
                           std::move(with.time))};
  return result;
}

}  // namespace skald::lab
