#include "engine/draft_length.h"

#include <algorithm>

namespace skald::engine {
namespace {

// Weights of a new measurement: some seven tokens of a draft (all there were, at first), some ten
// steps.
constexpr double kAcceptanceWeight = 0.15;
constexpr double kSecondsWeight = 0.2;
// A draft must promise more than it costs by this: the estimates are rough.
constexpr double kMargin = 1.05;
// Tokens of a probe, and the longest pause between two that fail: two rows more in 512 steps are
// lost in the noise, even where they double a step.
constexpr int64_t kProbe = 2;
constexpr int64_t kLongestPause = 512;
constexpr int64_t kShortestPause = 32;

}  // namespace

DraftLength::DraftLength(int64_t least, int64_t most, int64_t max_rows)
    : least_(least), most_(most), seconds_(static_cast<size_t>(max_rows) + 1) {}

void DraftLength::Begin(int64_t decode_rows) {
  decode_rows_ = decode_rows;
  rows_ = decode_rows;
  tokens_ = static_cast<double>(decode_rows);
}

int64_t DraftLength::Next(DraftRecord* record, int64_t allowed) {
  allowed = std::min({allowed, most_, static_cast<int64_t>(seconds_.size()) - 1 - rows_});
  if (allowed < 1) return 0;
  int64_t length = std::max(Best(record->acceptance, allowed), std::min(least_, allowed));
  if (length > 0) {
    record->wait = record->pause = kShortestPause;
  } else if (Known(decode_rows_) && --record->wait <= 0) {
    length = std::min(kProbe, allowed);
    record->wait = record->pause;
    record->pause = std::min(2 * record->pause, kLongestPause);
  }
  rows_ += length;
  double right = 1;
  for (int64_t i = 0; i < length; ++i) tokens_ += right *= record->acceptance;
  return length;
}

// The length with the most tokens a second; none before a step without drafts was seen.
int64_t DraftLength::Best(double acceptance, int64_t allowed) const {
  if (!Known(decode_rows_)) return 0;
  int64_t best = 0;
  double best_rate = kMargin * tokens_ / SecondsOf(rows_);
  double tokens = tokens_;
  double right = 1;
  for (int64_t length = 1; length <= allowed; ++length) {
    right *= acceptance;
    tokens += right;
    const double rate = tokens / SecondsOf(rows_ + length);
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = length;
  }
  return best;
}

void DraftLength::Miss(DraftRecord* record) { record->wait = 0; }

void DraftLength::Learn(int64_t tried, int64_t accepted, DraftRecord* record) {
  for (int64_t i = 0; i < tried; ++i) {
    const double right = i < accepted ? 1 : 0;
    const double weight = std::max(kAcceptanceWeight, 1 / static_cast<double>(3 + record->tried));
    record->acceptance += weight * (right - record->acceptance);
    ++record->tried;
  }
}

void DraftLength::Observe(int64_t rows, double seconds) {
  if (seconds <= 0 || rows >= static_cast<int64_t>(seconds_.size())) return;
  double& known = seconds_[static_cast<size_t>(rows)];
  known = known > 0 ? known + kSecondsWeight * (seconds - known) : seconds;
}

bool DraftLength::Known(int64_t rows) const { return seconds_[static_cast<size_t>(rows)] > 0; }

// Of a number of rows never seen it is believed that it lies on the line between those seen; of
// one more than a number seen, and of one beyond all, that it costs no more than that: so it is
// tried once, and steps in the cost (tiles of rows) are found.
double DraftLength::SecondsOf(int64_t rows) const {
  int64_t below = rows;
  while (!Known(below)) --below;
  const auto last = static_cast<int64_t>(seconds_.size()) - 1;
  int64_t above = rows;
  while (above < last && !Known(above)) ++above;
  const double seconds = seconds_[static_cast<size_t>(below)];
  if (rows <= below + 1 || !Known(above)) return seconds;
  const double share = static_cast<double>(rows - below) / static_cast<double>(above - below);
  return seconds + share * (seconds_[static_cast<size_t>(above)] - seconds);
}

}  // namespace skald::engine
