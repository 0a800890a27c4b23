#include "cli/explain_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "cli/explain_taps.h"
#include "cli/format.h"
#include "cli/tint.h"
#include "cli/utf8.h"

namespace skald::cli {
namespace {

struct Cell {
  std::string text = {};
  Tint tint = Tint::kPlain;
};
using Row = std::vector<Cell>;

// Rows in aligned columns: the first `left` of them to the left.
std::string Layout(const std::vector<Row>& rows, size_t left, Painting painting) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    size_t blanks = 0;  // before the next cell that has something
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t fill = widths[i] - DisplayWidth(row[i].text);
      if (i >= left) blanks += fill;
      if (!row[i].text.empty()) {
        line += std::string(blanks, ' ') + Paint(row[i].text, row[i].tint, painting);
        blanks = 0;
      } else {
        blanks += i < left ? 0 : widths[i] - fill;
      }
      blanks += (i < left ? fill : 0) + 2;
    }
    text += line + '\n';
  }
  return text;
}

std::string Shape(const std::vector<int64_t>& shape) {
  return shape.empty() ? std::string() : fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string Operations(double count) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}}};
  for (const auto& [unit, name] : kUnits) {
    if (count >= unit) return fmt::format("{:.2f} {}", count / unit, name);
  }
  return count > 0 ? fmt::format("{:.0f}", count) : std::string();
}

// Operations of a small model are over in a microsecond.
std::string Time(double seconds) {
  return seconds < 1e-5 ? fmt::format("{:.1f} us", seconds * 1e6) : Duration(seconds);
}

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string BytesOf(const Call& call) {
  return call.work.bytes > 0 ? Bytes(static_cast<int64_t>(call.work.bytes)) : std::string();
}

std::string ShareOf(const Call& call) {
  const auto share = call.share();
  return share ? fmt::format("{} {}", Percent(*share), ResourceName(call.bound->resource))
               : std::string();
}

Tint TintOf(CallKind kind) {
  const bool is_sum =
      kind == CallKind::kStep || kind == CallKind::kLayer || kind == CallKind::kBlock;
  return is_sum ? Tint::kAggregate : Tint::kComputed;
}

// The branches of a tree, drawn in ASCII: they are the same in every terminal and file.
class TreeRows {
 public:
  TreeRows(const Call& step, const ExplainView& view) : step_(step), view_(view) {
    rows_.push_back({{"call"},
                     {"in"},
                     {"with"},
                     {"out"},
                     {"time"},
                     {"of step"},
                     {"bytes"},
                     {"operations"},
                     {"of ceiling"}});
    Add(step, 0);
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void Add(const Call& call, int64_t depth) {
    const Tint tint = TintOf(call.kind);
    const std::string name =
        std::string(static_cast<size_t>(2 * depth), ' ') + TerminalLine(call.name);
    const std::string time = call.seconds ? Time(*call.seconds) : std::string();
    const bool has_part = call.seconds && step_.seconds.value_or(0) > 0;
    rows_.push_back({{name},
                     {Shape(call.input), Tint::kInput},
                     {Shape(call.operand)},
                     {Shape(call.output), Tint::kResult},
                     {time, tint},
                     {has_part ? Percent(*call.seconds / *step_.seconds) : std::string()},
                     {BytesOf(call), tint},
                     {Operations(2 * call.macs()), tint},
                     {ShareOf(call)}});
    for (const Call& inner : call.calls) {
      const bool is_other = view_.layer >= 0 && inner.layer >= 0 && inner.layer != view_.layer;
      // By kind: what is of no layer stands a level further out.
      const bool is_below = static_cast<int64_t>(inner.kind) > view_.depth;
      if (!is_other && !is_below) Add(inner, depth + 1);
    }
  }

  const Call& step_;
  const ExplainView& view_;
  std::vector<Row> rows_;
};

Tint TintOf(TokenOrigin origin) {
  switch (origin) {
    case TokenOrigin::kCached: return Tint::kInput;
    case TokenOrigin::kComputed: return Tint::kComputed;
    case TokenOrigin::kDrawn: return Tint::kResult;
  }
  return Tint::kPlain;
}

// One line: a letter for each change of origin says what its colour says.
std::string TokenLine(const Explanation& explanation, Painting painting) {
  std::string line;
  std::string_view last;
  for (const ExplainedToken& token : explanation.tokens) {
    const std::string_view origin = TokenOriginName(token.origin);
    if (origin != last) line += fmt::format("{}{}: ", last.empty() ? "" : "\n", origin);
    last = origin;
    line += '|' + Paint(TerminalLine(token.text), TintOf(token.origin), painting);
  }
  return line + "|\n";
}

std::string StepName(const ExplainedStep& step) { return step.is_prefill ? "prefill" : "decode"; }

std::string TextOf(const Explanation& explanation, const ExplainedStep& step) {
  if (step.drawn == kNoToken) return {};
  const auto next = static_cast<size_t>(step.first_position + step.rows);
  return '|' + TerminalLine(explanation.tokens[next].text) + '|';
}

std::string StepTable(const Explanation& explanation, Painting painting) {
  std::vector<Row> rows = {{{"step"},
                            {""},
                            {"token"},
                            {"rows"},
                            {"from"},
                            {"time"},
                            {"bytes"},
                            {"operations"},
                            {"of ceiling"}}};
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainedStep& step = explanation.steps[i];
    rows.push_back({{fmt::format("{}", i)},
                    {StepName(step)},
                    {TextOf(explanation, step), Tint::kResult},
                    {fmt::format("{}", step.rows)},
                    {fmt::format("{}", step.first_position)},
                    {Time(step.tree.seconds.value_or(0)), Tint::kAggregate},
                    {BytesOf(step.tree), Tint::kAggregate},
                    {Operations(2 * step.tree.macs()), Tint::kAggregate},
                    {ShareOf(step.tree)}});
  }
  return Layout(rows, 3, painting);
}

Result<std::vector<int64_t>> StepsToShow(const Explanation& explanation, const ExplainView& view) {
  const int64_t count = std::ssize(explanation.steps);
  for (const int64_t step : view.steps) {
    if (step >= 0 && step < count) continue;
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("--step: there is no step {}, expected 0 to {}", step, count - 1));
  }
  if (!view.steps.empty()) return view.steps;
  std::vector<int64_t> steps = {0};
  const auto decode = std::find_if(explanation.steps.begin(), explanation.steps.end(),
                                   [](const ExplainedStep& step) { return !step.is_prefill; });
  if (decode != explanation.steps.end()) steps.push_back(decode - explanation.steps.begin());
  return steps;
}

Status CheckLayer(const Explanation& explanation, int64_t layer) {
  if (layer < explanation.model.layer_count) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("--layer: there is no layer {}, expected 0 to {}", layer,
                            explanation.model.layer_count - 1));
}

}  // namespace

Result<std::string> ExplainText(const Explanation& explanation, const ExplainView& view) {
  RETURN_IF_ERROR(CheckLayer(explanation, view.layer));
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, StepsToShow(explanation, view));
  const Painting painting = view.has_color ? Painting::kColored : Painting::kPlain;
  std::string text =
      fmt::format("{}, {} {}, {} threads, {}, seed {}\n\n", TerminalLine(explanation.model.name),
                  TerminalLine(explanation.model.architecture), explanation.model.weights_type,
                  explanation.threads, explanation.isa, explanation.sampling.seed);
  text += TokenLine(explanation, painting) + '\n';
  text += StepTable(explanation, painting);
  for (const int64_t index : steps) {
    const ExplainedStep& step = explanation.steps[static_cast<size_t>(index)];
    text += fmt::format("\nstep {}, {}\n", index, StepName(step));
    text += Layout(TreeRows(step.tree, view).rows(), 4, painting);
    if (view.has_cards) text += '\n' + CardsText(step);
  }
  return text + WeightsText(explanation) + LensText(explanation) + AttentionText(explanation) +
         ExpertsText(explanation) + PromptText(explanation);
}

}  // namespace skald::cli
