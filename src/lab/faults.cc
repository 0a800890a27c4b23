// The experiments of faults: a text is read as it is, and once more with one lie. What comes of it
// is shown twice: of the same text, position by position, and of the answer that the model gives
// when it is lied to.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/status_macros.h"
#include "lab/answer.h"
#include "lab/experiment.h"
#include "lab/scores.h"

namespace skald::lab {
namespace {

// How old a stale state is: a few words.
constexpr int64_t kStateAge = 16;

// A lie, and what people are told of it.
struct Plan {
  std::string changed;
  int64_t position = 0;
  Lie lie = {};
  std::string_view clean_steps = "the same steps";
};

// Rows of the same text, row by row: how surprising its next token was, and how far the one
// distribution is from the other.
struct Scores {
  std::vector<FigurePoint> clean_loss = {}, broken_loss = {}, divergence = {},
                           clean_divergence = {};
  int64_t different_rows = 0;  // of the clean ones, from those computed at once
};

Result<Scores> ScoresOf(const Answer& clean, const Answer& broken, const Rows& at_once) {
  Scores scores;
  for (size_t row = 0; row < clean.rows.size(); ++row) {
    const std::vector<double> expected = LogProbabilities(at_once[row]);
    const std::vector<double> same = LogProbabilities(clean.rows[row]);
    const std::vector<double> found = LogProbabilities(broken.rows[row]);
    const auto next = static_cast<size_t>(clean.tokens[row + 1]);
    if (!std::isfinite(expected[next])) {
      return Status(ErrorCode::kNumeric, "the logits at position " + std::to_string(row) +
                                             " are not numbers: the weights are broken");
    }
    const auto x = static_cast<double>(row);
    scores.clean_loss.push_back({x, -same[next]});
    scores.broken_loss.push_back({x, -found[next]});
    scores.divergence.push_back({x, Divergence(same, found)});
    scores.clean_divergence.push_back({x, Divergence(expected, same)});
    scores.different_rows += int64_t{at_once[row] != clean.rows[row]};
  }
  return scores;
}

std::string FindingOf(const LabResult& result, const Scores& scores, int64_t from) {
  const FigurePoint& most = Highest(scores.divergence);
  const std::string loss = fmt::format(
      "the right text costs {:.2f} nats a token in place of {:.2f}, KL is {:.3g} at first and "
      "{:.3g} "
      "at most, at position {}",
      MeanFrom(scores.broken_loss, from), MeanFrom(scores.clean_loss, from),
      scores.divergence[static_cast<size_t>(from)].y, most.y, most.x);
  if (!result.parts_at) return "The answers are the same; " + loss;
  const int64_t behind = *result.parts_at - std::max(from + 1, result.prompt_tokens);
  if (behind <= 0) return "The answers part at once; " + loss;
  return fmt::format("The answers part behind {} token{}; {}", behind, behind == 1 ? "" : "s",
                     loss);
}

std::string CleanSentence(const Plan& plan, const Scores& scores, size_t rows) {
  if (scores.different_rows == 0) {
    return fmt::format(
        "Without it {} give the bits of the text computed at once, in all {} rows: KL 0",
        plan.clean_steps, rows);
  }
  return fmt::format(
      "Without it {} differ from the text computed at once in {} of {} rows: the engine itself is "
      "broken",
      plan.clean_steps, scores.different_rows, rows);
}

std::vector<FigurePanel> PanelsOf(Scores scores, const Plan& plan) {
  const FigurePlace place = {.x = static_cast<double>(plan.position), .label = "the fault"};
  const FigureAxis positions = {.label = "position (tokens)"};
  return {{.title = "Loss of the right text",
           .x = positions,
           .y = {.label = "-log p of the next token (nats)"},
           .series = {{.name = "with the fault",
                       .mark = FigureMark::kFault,
                       .points = std::move(scores.broken_loss)},
                      {.name = "without",
                       .mark = FigureMark::kInput,
                       .points = std::move(scores.clean_loss)}},
           .place = place},
          {.title = "How far the distributions are from each other",
           .x = positions,
           .y = {.label = "KL (nats)"},
           .series = {{.name = "with the fault",
                       .mark = FigureMark::kFault,
                       .points = std::move(scores.divergence)},
                      {.name = "without: the same steps against the text at once",
                       .mark = FigureMark::kInput,
                       .points = std::move(scores.clean_divergence)}},
           .place = place}};
}

Result<LabResult> RunFault(const Bench& bench, Plan plan) {
  // The steps of the clean run are cut where those of the other are.
  const Lie truth = {.from = plan.lie.from, .until = plan.lie.until, .order = plan.lie.order};
  ASSIGN_OR_RETURN(const Answer clean, AnswerOf(bench, truth, {}));
  ASSIGN_OR_RETURN(const Rows at_once, RowsAtOnce(bench, clean.tokens));
  ASSIGN_OR_RETURN(const Answer broken, AnswerOf(bench, plan.lie, clean.tokens));
  ASSIGN_OR_RETURN(const Answer own, AnswerOf(bench, plan.lie, {}));
  ASSIGN_OR_RETURN(Scores scores, ScoresOf(clean, broken, at_once));
  LabResult result = bench.Begin();
  result.position = plan.position;
  for (const TokenId id : clean.tokens) result.text.push_back(bench.Token(id));
  for (const TokenId id : own.tokens) result.broken_text.push_back(bench.Token(id));
  const auto parting = std::mismatch(clean.tokens.begin(), clean.tokens.end(), own.tokens.begin());
  if (parting.first != clean.tokens.end()) {
    result.parts_at = parting.first - clean.tokens.begin();
  }
  result.changed = std::move(plan.changed);
  result.finding = FindingOf(result, scores, plan.lie.from);
  result.clean = CleanSentence(plan, scores, clean.rows.size());
  result.is_clean = scores.different_rows == 0;
  result.panels = PanelsOf(std::move(scores), plan);
  return result;
}

// The position that was asked for, or `usual`. `last` is the last that shows anything.
Result<int64_t> PositionOf(const Bench& bench, int64_t usual, int64_t last) {
  const int64_t position = bench.question.position.value_or(std::min(usual, last));
  if (position >= 1 && position <= last) return position;
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("the position is {}, expected 1 to {}", position, last));
}

// Of a fault from some position on: where the answer begins, unless somebody says otherwise.
Result<int64_t> FirstPosition(const Bench& bench) {
  return PositionOf(bench, std::ssize(bench.question.prompt), TotalOf(bench) - 2);
}

bool HasMask(const model::Mixer& mixer) {
  const auto* gqa = std::get_if<model::Gqa>(&mixer);
  return gqa != nullptr && gqa->mask == model::Mask::kCausal;
}

}  // namespace

Result<LabResult> RunWrongKey(const Bench& bench) {
  RETURN_IF_ERROR(bench.NeedKeys());
  const int64_t prompt = std::ssize(bench.question.prompt);
  ASSIGN_OR_RETURN(const int64_t position, PositionOf(bench, prompt / 2, TotalOf(bench) - 3));
  const int64_t from = std::max(position + 1, prompt);
  return RunFault(bench, {.changed = fmt::format("The key of position {} became random numbers in "
                                                 "all layers and heads, before position {} was "
                                                 "computed",
                                                 position, from),
                          .position = from,
                          .lie = {.from = from, .wrong_key = position}});
}

Result<LabResult> RunWriteIndex(const Bench& bench) {
  RETURN_IF_ERROR(bench.NeedKeys());
  ASSIGN_OR_RETURN(const int64_t from, FirstPosition(bench));
  return RunFault(bench,
                  {.changed = fmt::format("From position {} on K and V are written one place "
                                          "too far, and place {} stays empty",
                                          from, from),
                   .position = from,
                   .lie = {.from = from, .write_shift = 1}});
}

Result<LabResult> RunForgetCache(const Bench& bench) {
  ASSIGN_OR_RETURN(const int64_t from, FirstPosition(bench));
  return RunFault(bench, {.changed = fmt::format("From position {} on no step has anything of the "
                                                 "steps before it",
                                                 from),
                          .position = from,
                          .lie = {.from = from, .past = Past::kForgotten}});
}

Result<LabResult> RunRopePosition(const Bench& bench) {
  if (bench.network().ropes.empty()) return bench.NotHere("its positions turn no heads (no RoPE)");
  ASSIGN_OR_RETURN(const int64_t from, FirstPosition(bench));
  return RunFault(bench, {.changed = fmt::format("From position {} on queries and keys are turned "
                                                 "as if positions counted from 0 again",
                                                 from),
                          .position = from,
                          .lie = {.from = from, .turn_shift = -from}});
}

Result<LabResult> RunFuture(const Bench& bench) {
  const std::vector<model::Layer>& layers = bench.network().layers;
  const bool has_mask = std::any_of(layers.begin(), layers.end(), [](const model::Layer& layer) {
    return HasMask(layer.mixer) || HasMask(layer.beside);
  });
  if (!has_mask) return bench.NotHere("it has no attention whose mask could be taken away");
  if (bench.question.position) {
    return Status(ErrorCode::kInvalidArgument,
                  "this fault has no position: a network without a mask reads a prompt whole");
  }
  const int64_t prompt = std::ssize(bench.question.prompt);
  return RunFault(bench,
                  {.changed = fmt::format("The prompt, positions 0 to {}, was computed without the "
                                          "causal mask",
                                          prompt - 1),
                   .position = 0,
                   .lie = {.from = 0, .until = prompt, .sight = Sight::kAll}});
}

Result<LabResult> RunSharedCache(const Bench& bench) {
  RETURN_IF_ERROR(bench.NeedKeys());
  ASSIGN_OR_RETURN(const int64_t from, FirstPosition(bench));
  // The other one says the words of the prompt backwards, again and again.
  std::vector<TokenId> other;
  for (int64_t i = 0; i < TotalOf(bench); ++i) {
    const auto size = bench.question.prompt.size();
    other.push_back(bench.question.prompt[size - 1 - static_cast<size_t>(i) % size]);
  }
  return RunFault(bench, {.changed = fmt::format("From position {} on another request writes its K "
                                                 "and V into the same pages",
                                                 from),
                          .position = from,
                          .lie = {.from = from, .other = std::move(other)}});
}

Result<LabResult> RunStaleState(const Bench& bench) {
  if (model::StateFloatsOf(bench.network()) == 0) {
    return bench.NotHere("it has no recurrent layers, so it carries no state");
  }
  ASSIGN_OR_RETURN(const int64_t from, FirstPosition(bench));
  const int64_t age = std::min(kStateAge, from);
  return RunFault(bench, {.changed = fmt::format("Before position {} the state of the recurrent "
                                                 "layers became that of {} tokens ago",
                                                 from, age),
                          .position = from,
                          .lie = {.from = from, .state_age = age}});
}

Result<LabResult> RunContiguous(const Bench& bench) {
  RETURN_IF_ERROR(bench.NeedKeys());
  constexpr int64_t kFirst = kernels::kPageTokens + 1;  // two pages have something then
  const int64_t last = TotalOf(bench) - 2;
  if (last < kFirst) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("prompt and answer have {} tokens, expected {} at least: they must "
                              "reach over a page of {}",
                              last + 2, kFirst + 2, kernels::kPageTokens));
  }
  ASSIGN_OR_RETURN(const int64_t from,
                   PositionOf(bench, std::max(kFirst, std::ssize(bench.question.prompt)), last));
  if (from < kFirst) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("the position is {}, expected {} to {}", from, kFirst, last));
  }
  ASSIGN_OR_RETURN(
      LabResult result,
      RunFault(bench,
               {.changed = fmt::format("The pages of the text stand in memory in any order, "
                                       "and before position {} two entries of the page "
                                       "table changed places",
                                       from),
                .position = from,
                .lie = {.from = from, .table = Table::kSwapped, .order = PageOrder::kDescending},
                .clean_steps = "pages in another order"}));
  result.panels.push_back(RequestsThatFit(bench));
  return result;
}

}  // namespace skald::lab
