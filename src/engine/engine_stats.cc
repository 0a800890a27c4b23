#include "skald/engine_stats.h"

#include <algorithm>
#include <cmath>

namespace skald {
namespace {

constexpr double kFirstBound = 1e-5;  // seconds
constexpr double kPerDecade = 10;

}  // namespace

std::string_view RequestPhaseName(RequestPhase phase) {
  switch (phase) {
    case RequestPhase::kQueued: return "queued";
    case RequestPhase::kPrefill: return "prefill";
    case RequestPhase::kDecode: return "decode";
    case RequestPhase::kPreempted: return "preempted";
  }
  return "unknown";
}

double Histogram::UpperBound(int index) { return kFirstBound * std::pow(10, index / kPerDecade); }

void Histogram::Add(double seconds) {
  const double place = kPerDecade * std::log10(std::max(seconds, kFirstBound) / kFirstBound);
  const auto index = static_cast<size_t>(std::min(std::ceil(place), double{kBuckets - 1}));
  ++buckets_[index];
  ++count_;
  sum_seconds_ += seconds;
}

double Histogram::Quantile(double share) const {
  const double wanted = share * static_cast<double>(count_);
  int64_t below = 0;
  for (int i = 0; i < kBuckets; ++i) {
    below += bucket(i);
    if (count_ > 0 && static_cast<double>(below) >= wanted) return UpperBound(i);
  }
  return 0;
}

}  // namespace skald
