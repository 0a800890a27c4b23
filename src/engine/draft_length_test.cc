#include "engine/draft_length.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace skald::engine {
namespace {

// A sequence that decodes alone on a machine where `seconds(rows)` is the time of a step, with a
// proposer of known acceptance.
struct Decoded {
  double seconds = 0;
  double tokens = 0;
  double rate() const { return tokens / seconds; }
};
template <typename Seconds>
Decoded Decode(double acceptance, int64_t steps, Seconds seconds, int64_t most = 8) {
  DraftLength lengths(0, most, 64);
  DraftRecord record;
  Decoded run;
  for (int64_t step = 0; step < steps; ++step) {
    lengths.Begin(1);
    const int64_t tried = lengths.Next(&record, 100);
    int64_t accepted = 0;
    while (accepted < tried && UniformDouble({.seed = 1, .position = static_cast<uint64_t>(step)},
                                             static_cast<uint32_t>(accepted)) < acceptance) {
      ++accepted;
    }
    DraftLength::Learn(std::min(tried, accepted + 1), accepted, &record);
    lengths.Observe(1 + tried, seconds(1 + tried));
    run.seconds += seconds(1 + tried);
    run.tokens += 1 + static_cast<double>(accepted);
  }
  return run;
}

TEST(DraftLength, UsesTheWholeLengthWhereRowsCostLittle) {
  const Decoded run = Decode(1.0, 100, [](int64_t rows) { return 1 + 0.01 * double(rows); });
  EXPECT_GT(run.tokens, 800);
}

// Rows that cost half a step each, and guesses that are always wrong: at most three in a hundred
// are lost.
TEST(DraftLength, TurnsItselfOffWhereItLoses) {
  const auto seconds = [](int64_t rows) { return 0.5 + 0.5 * double(rows); };
  const Decoded run = Decode(0.0, 2000, seconds);
  EXPECT_GT(run.rate(), 0.97);
  EXPECT_LT(run.rate(), 1.0);
}

TEST(DraftLength, IsNeverMuchSlowerThanOff) {
  for (const double row : {0.02, 0.1, 0.3, 0.6, 1.0}) {
    for (const double acceptance : {0.0, 0.2, 0.5, 0.8}) {
      const auto seconds = [row](int64_t rows) { return 1 - row + row * double(rows); };
      EXPECT_GT(Decode(acceptance, 2000, seconds).rate(), 0.97) << row << " " << acceptance;
    }
  }
}

// A step costs by tiles of four rows: three more are free.
TEST(DraftLength, FindsTheLengthThatPays) {
  const auto tiles = [](int64_t rows) { return std::ceil(double(rows) / 4); };
  const double best = 1 + 0.75 + 0.75 * 0.75 + 0.75 * 0.75 * 0.75;
  EXPECT_GT(Decode(0.75, 3000, tiles).rate(), 0.93 * best);
}

TEST(DraftLength, NoticesWhenTheTextBecomesPredictable) {
  DraftLength lengths(0, 4, 64);
  DraftRecord record;
  const auto step = [&](bool right) {
    lengths.Begin(1);
    const int64_t tried = lengths.Next(&record, 100);
    if (tried > 0) DraftLength::Learn(right ? tried : 1, right ? tried : 0, &record);
    lengths.Observe(1 + tried, 1 + 0.2 * double(tried));
    return tried;
  };
  for (int i = 0; i < 1000; ++i) step(false);
  EXPECT_EQ(step(false), 0);
  int64_t guessed = 0;
  for (int i = 0; i < 1000; ++i) guessed += step(true);
  EXPECT_GT(guessed, 1000);
}

// A draft model was behind: the probe is not lost, and comes again in the next step.
TEST(DraftLength, AProbeWithoutAGuessIsRepeated) {
  DraftLength lengths(0, 4, 64);
  DraftRecord record;
  const auto step = [&](bool guesses) {
    lengths.Begin(1);
    const int64_t wanted = lengths.Next(&record, 100);
    if (wanted > 0 && guesses) DraftLength::Learn(1, 0, &record);
    if (wanted > 0 && !guesses) DraftLength::Miss(&record);
    lengths.Observe(1 + wanted, 1 + 0.5 * double(wanted));
    return wanted;
  };
  for (int i = 0; i < 1000; ++i) step(true);
  while (step(false) == 0) {
  }
  for (int i = 0; i < 10; ++i) EXPECT_GT(step(false), 0);
  EXPECT_GT(step(true), 0);
  EXPECT_EQ(step(true), 0);
}

TEST(DraftLength, KeepsItsBounds) {
  DraftRecord record;
  DraftLength fixed(3, 3, 64);
  fixed.Begin(1);
  EXPECT_EQ(fixed.Next(&record, 100), 3);
  EXPECT_EQ(fixed.Next(&record, 2), 2);
  EXPECT_EQ(fixed.Next(&record, 0), 0);
  EXPECT_EQ(fixed.Next(&record, -5), 0);
  DraftLength small(8, 8, 4);
  small.Begin(2);
  record = {};
  EXPECT_EQ(small.Next(&record, 100), 2);
  EXPECT_EQ(small.Next(&record, 100), 0);
}

}  // namespace
}  // namespace skald::engine
