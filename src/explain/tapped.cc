#include "explain/tapped.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "base/check.h"

namespace skald::explain {
namespace {

// For people, so the machine's own logarithm will do.
double EntropyTerm(double p) { return p > 0 ? -p * std::log2(p) : 0; }

// Sums over the rows of a head.
struct HeadSums {
  double entropy = 0;
  double distance = 0;
  double rows = 0;

  void Add(const ExplainedAttention& row) {
    double entropy_of_row = EntropyTerm(row.sink.value_or(0));
    double back = 0;
    double all = 0;
    for (size_t i = 0; i < row.weights.size(); ++i) {
      const auto weight = static_cast<double>(row.weights[i]);
      const int64_t key = row.first_key + static_cast<int64_t>(i);
      entropy_of_row += EntropyTerm(weight);
      // Of a model that reads both ways a key may stand behind the row.
      back += weight * static_cast<double>(std::abs(row.position - key));
      all += weight;
    }
    entropy += entropy_of_row;
    distance += all > 0 ? back / all : 0;
    ++rows;
  }
};

int64_t ExpertCount(const model::FeedForward& block) {
  if (const auto* experts = std::get_if<model::Experts>(&block)) return experts->count;
  if (const auto* both = std::get_if<model::GatedAndExperts>(&block)) return both->experts.count;
  UNREACHABLE();
}

}  // namespace

void AddAttention(std::vector<model::HeadWeights> seen, Explanation* explanation) {
  for (model::HeadWeights& weights : seen) {
    ExplainedAttention row = {.layer = weights.part.layer,
                              .beside = weights.part.kind == model::PartKind::kBeside,
                              .head = weights.head,
                              .position = weights.position,
                              .first_key = weights.first_key,
                              .weights = std::move(weights.weights)};
    if (weights.has_sink) {
      double all = 0;
      for (const float weight : row.weights) all += static_cast<double>(weight);
      row.sink = std::max(0.0, 1 - all);
    }
    explanation->attention.push_back(std::move(row));
  }
}

void AddHeads(Explanation* explanation) {
  std::map<std::tuple<int64_t, bool, int64_t>, HeadSums> heads;
  for (const ExplainedAttention& row : explanation->attention) {
    heads[{row.layer, row.beside, row.head}].Add(row);
  }
  for (const auto& [place, sums] : heads) {
    const auto& [layer, beside, head] = place;
    explanation->heads.push_back({.layer = layer,
                                  .beside = beside,
                                  .head = head,
                                  .entropy_bits = sums.entropy / sums.rows,
                                  .distance = sums.distance / sums.rows});
  }
}

void AddExperts(const model::Network& network, std::vector<model::ChosenExperts> seen,
                Explanation* explanation) {
  for (model::ChosenExperts& chosen : seen) {
    const auto layer = static_cast<size_t>(chosen.part.layer);
    explanation->experts.push_back({.layer = chosen.part.layer,
                                    .position = chosen.position,
                                    .count = ExpertCount(network.layers[layer].feed_forward),
                                    .experts = std::move(chosen.experts),
                                    .weights = std::move(chosen.weights)});
  }
}

TensorCard CardOf(const model::ValueSummary& summary, std::vector<int64_t> shape) {
  static_assert(kCardBins == model::kValueBins && kCardValues == model::kListedValues);
  return {.shape = std::move(shape),
          .count = summary.count,
          .not_finite = summary.not_finite,
          .min = summary.min,
          .mean = summary.mean,
          .max = summary.max,
          .first = summary.first,
          .last = summary.last,
          .bins = summary.bins};
}

}  // namespace skald::explain
