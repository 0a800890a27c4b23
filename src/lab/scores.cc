#include "lab/scores.h"

#include <algorithm>

#include "base/exact_math.h"

namespace skald::lab {

// In double precision with the functions of exact_math.h: a figure is the same on every machine.
std::vector<double> LogProbabilities(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += ExactExp(logit - most);
  const double norm = most + ExactLog(sum);
  std::vector<double> log_probabilities;
  log_probabilities.reserve(logits.size());
  for (const float logit : logits) log_probabilities.push_back(logit - norm);
  return log_probabilities;
}

double Divergence(std::span<const double> expected, std::span<const double> found) {
  double sum = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double probability = ExactExp(expected[i]);
    if (probability > 0) sum += probability * (expected[i] - found[i]);
  }
  return std::max(sum, 0.0);  // rounding can leave a little less than nothing
}

TokenId Likeliest(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double MeanFrom(std::span<const FigurePoint> points, int64_t from) {
  double sum = 0;
  int64_t count = 0;
  for (const FigurePoint& point : points) {
    if (point.x < static_cast<double>(from)) continue;
    sum += point.y;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

const FigurePoint& Highest(std::span<const FigurePoint> points) {
  return *std::max_element(points.begin(), points.end(),
                           [](const FigurePoint& a, const FigurePoint& b) { return a.y < b.y; });
}

}  // namespace skald::lab
