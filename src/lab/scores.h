/// Scores: how far one distribution of the next token is from another, and such numbers together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skald/figure.h"
#include "skald/ids.h"

namespace skald::lab {

/// Logits of one row as log probabilities, in nats.
std::vector<double> LogProbabilities(std::span<const float> logits);

/// KL(expected || found) of two rows of log probabilities, in nats: 0 where they are the same, and
/// never below.
double Divergence(std::span<const double> expected, std::span<const double> found);

/// The token with the largest logit, of several the first.
TokenId Likeliest(std::span<const float> logits);

/// The mean of what stands at `from` and behind it; 0 of nothing.
double MeanFrom(std::span<const FigurePoint> points, int64_t from);

/// The point with the largest value, of several the first. Requires one.
const FigurePoint& Highest(std::span<const FigurePoint> points);

}  // namespace skald::lab
