#include "engine/pooler.h"

#include <cmath>
#include <string>

#include "base/check.h"

namespace skald {

std::string_view PoolingName(Pooling pooling) {
  switch (pooling) {
    case Pooling::kNone: return "none";
    case Pooling::kLast: return "last";
    case Pooling::kMean: return "mean";
    case Pooling::kFirst: return "first";
  }
  UNREACHABLE();
}

namespace engine {

int64_t Pooler::FirstWanted(int64_t length) const {
  switch (pooling_) {
    case Pooling::kNone: break;
    case Pooling::kLast: return length - 1;
    case Pooling::kMean: return taken_;
    case Pooling::kFirst: return taken_ == 0 ? 0 : length;
  }
  UNREACHABLE();
}

void Pooler::Take(std::span<const float> hidden) {
  sum_.resize(hidden.size());
  for (size_t i = 0; i < hidden.size(); ++i) sum_[i] += double{hidden[i]};
  ++taken_;
}

std::vector<float> Pooler::Pooled() const {
  CHECK(taken_ > 0);
  std::vector<float> pooled;
  pooled.reserve(sum_.size());
  for (const double value : sum_) {
    pooled.push_back(static_cast<float>(value / static_cast<double>(taken_)));
  }
  return pooled;
}

Result<std::vector<float>> Pooler::Embedding() const {
  CHECK(taken_ > 0);
  double squares = 0;
  for (const double value : sum_) squares += value * value;
  if (!std::isfinite(squares)) {
    return Status(ErrorCode::kNumeric,
                  "the embedding is not a vector of numbers: the weights are broken");
  }
  const double length = squares > 0 ? std::sqrt(squares) : 1;
  std::vector<float> embedding;
  embedding.reserve(sum_.size());
  for (const double value : sum_) embedding.push_back(static_cast<float>(value / length));
  return embedding;
}

}  // namespace engine
}  // namespace skald
