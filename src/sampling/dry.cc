#include "sampling/dry.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "base/check.h"
#include "base/exact_math.h"

namespace skald::sampling {
namespace {

// e^60 times the largest multiplier is far from the largest float, and no logit outweighs it.
constexpr double kMaxExponent = 60;

// The last tokens of prompt and output, the latest first.
class Backwards {
 public:
  Backwards(const PenaltyHistory& history, int32_t last_n) : history_(history) {
    const size_t all = history.prompt.size() + history.output.size();
    size_ = last_n < 0 ? all : std::min<size_t>(static_cast<size_t>(last_n), all);
  }
  size_t size() const { return size_; }
  TokenId operator[](size_t i) const {
    const size_t output = history_.output.size();
    return i < output ? history_.output[output - 1 - i]
                      : history_.prompt[history_.prompt.size() - 1 - (i - output)];
  }

 private:
  const PenaltyHistory& history_;
  size_t size_;
};

// The tokens behind the last breaker: what a repetition can consist of.
size_t Unbroken(const Backwards& text, const std::vector<TokenId>& breakers) {
  const size_t most = std::min<size_t>(text.size(), kMaxDryRepeat);
  size_t length = 0;
  while (length < most && !std::binary_search(breakers.begin(), breakers.end(), text[length])) {
    ++length;
  }
  return length;
}

// Calls `found(i, n)` for every i >= 1: the first n tokens of the text, at most `longest`, stand at
// i again, and no more. The Z algorithm (Gusfield 1997, 1.4) with a pattern, the first `longest`
// tokens: that is all that has to be remembered. [left, right) is the match that reaches furthest.
template <typename Found>
void ForEachRepeat(const Backwards& text, size_t longest, Found found) {
  std::array<int32_t, kMaxDryRepeat> of_pattern;
  size_t left = 0;
  size_t right = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    size_t n = 0;
    if (i < right) n = std::min(static_cast<size_t>(of_pattern[i - left]), right - i);
    // What is known to end before `right` ends there: only what reaches it can go on.
    if (i + n >= right) {
      while (n < longest && i + n < text.size() && text[n] == text[i + n]) ++n;
      left = i;
      right = i + n;
    }
    if (i < longest) of_pattern[i] = static_cast<int32_t>(n);
    found(i, n);
  }
}

float Lowered(float logit, const Dry& dry, int32_t repeat) {
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  const double beyond = static_cast<double>(repeat - dry.allowed_length);
  const double exponent = std::min(beyond * ExactLog(dry.base), kMaxExponent);
  const double value = double{logit} - dry.multiplier * ExactExp(exponent);
  // An infinity stays one, and none is made.
  return value - value != 0 ? logit : static_cast<float>(std::max(value, kLowest));
}

}  // namespace

bool IsOff(const Dry& dry) { return dry.multiplier == 0 || dry.last_n == 0; }

void ApplyDry(const Dry& dry, const PenaltyHistory& history, std::span<float> logits) {
  const Backwards text(history, dry.last_n);
  const size_t longest = Unbroken(text, dry.breakers);
  if (longest < static_cast<size_t>(dry.allowed_length)) return;
  // What followed: the longest repetition of each token is what counts.
  ForEachRepeat(text, longest, [&](size_t i, size_t n) {
    if (n < static_cast<size_t>(dry.allowed_length)) return;
    const TokenId next = text[i - 1];
    CHECK(next >= 0 && static_cast<size_t>(next) < logits.size());
    history.counts[next] = std::max(history.counts[next], static_cast<int32_t>(n));
  });
  for (size_t i = 0; i < text.size(); ++i) {
    int32_t& repeat = history.counts[text[i]];
    if (repeat > 0) logits[text[i]] = Lowered(logits[text[i]], dry, repeat);
    repeat = 0;
  }
}

}  // namespace skald::sampling
