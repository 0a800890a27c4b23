// What fewer bits of K and V cost: the same text with each type, beside float32.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "engine/options.h"
#include "lab/answer.h"
#include "lab/experiment.h"
#include "lab/scores.h"

namespace skald::lab {
namespace {

struct Type {
  kernels::KvType type;
  std::string_view name;
  FigureMark mark;
};

// Fewest bits first: its line stands before the others.
constexpr std::array kTypes = {
    Type{kernels::KvType::kQ4, "q4", FigureMark::kFault},
    Type{kernels::KvType::kQ8, "q8", FigureMark::kSum},
    Type{kernels::KvType::kBF16, "bf16", FigureMark::kComputed},
    Type{kernels::KvType::kF16, "f16", FigureMark::kResult},
};

Bench WithType(const Bench& bench, kernels::KvType type) {
  Bench other = bench;
  other.machine.kv_types = type;
  return other;
}

int64_t BytesOf(const Bench& bench, kernels::KvType type) {
  return model::KvLayoutOf(bench.network(), type).position_bytes();
}

std::vector<FigurePoint> DivergenceBetween(const Rows& expected, const Rows& found) {
  std::vector<FigurePoint> points;
  for (size_t row = 0; row < expected.size(); ++row) {
    points.push_back({static_cast<double>(row),
                      Divergence(LogProbabilities(expected[row]), LogProbabilities(found[row]))});
  }
  return points;
}

}  // namespace

Result<LabResult> RunKvPrecision(const Bench& bench) {
  RETURN_IF_ERROR(bench.NeedKeys());
  const Bench exact = WithType(bench, kernels::KvType::kF32);
  ASSIGN_OR_RETURN(const Answer answer, AnswerOf(exact, {}, {}));
  ASSIGN_OR_RETURN(const Rows at_once, RowsAtOnce(exact, answer.tokens));
  FigurePanel by_position = {.title = "How far the distributions are from those of float32",
                             .x = {.label = "position (tokens)"},
                             .y = {.label = "KL (nats)", .scale = FigureScale::kLog}};
  FigurePanel by_bytes = {.title = "What a byte less costs",
                          .x = {.label = "bytes of K and V of a position"},
                          .y = {.label = "mean KL (nats)", .scale = FigureScale::kLog},
                          .series = {{.name = "the types", .mark = FigureMark::kFault}}};
  std::string finding;
  for (const Type& type : kTypes) {
    // Latents are not quantized.
    if (!engine::CheckKvTypes(bench.network(), type.type).ok()) continue;
    ASSIGN_OR_RETURN(const Answer found, AnswerOf(WithType(bench, type.type), {}, answer.tokens));
    std::vector<FigurePoint> points = DivergenceBetween(answer.rows, found.rows);
    const double mean = MeanFrom(points, 0);
    const int64_t bytes = BytesOf(bench, type.type);
    finding += fmt::format("{}{} with {} bytes {:.2g}", finding.empty() ? "" : ", ", type.name,
                           bytes, mean);
    by_bytes.series.front().points.push_back({static_cast<double>(bytes), mean});
    by_position.series.push_back(
        {.name = std::string(type.name), .mark = type.mark, .points = std::move(points)});
  }
  LabResult result = bench.Begin();
  result.changed = "K and V of a position are kept in fewer bits than float32";
  result.finding = fmt::format("Mean KL from float32, {} bytes a position: {}",
                               BytesOf(bench, kernels::KvType::kF32), finding);
  const std::vector<FigurePoint> same = DivergenceBetween(at_once, answer.rows);
  result.is_clean = at_once == answer.rows;
  result.clean = fmt::format("With float32 in other steps the KL is {:.2g} in all {} rows",
                             Highest(same).y, same.size());
  result.panels = {std::move(by_position), std::move(by_bytes)};
  return result;
}

}  // namespace skald::lab
