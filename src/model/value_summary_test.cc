#include "model/value_summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace skald::model {
namespace {

ValueSummary Of(const std::vector<std::vector<float>>& rows) {
  return Summarize(std::ssize(rows), [&](int64_t row) {
    return std::span<const float>(rows[static_cast<size_t>(row)]);
  });
}

TEST(ValueSummary, HasExtentMeanAndEnds) {
  const ValueSummary summary = Of({{1, 2, 3, 4, 5}, {-6, 7, 8, 9, 10}});
  EXPECT_EQ(summary.count, 10);
  EXPECT_EQ(summary.min, -6);
  EXPECT_EQ(summary.max, 10);
  EXPECT_DOUBLE_EQ(summary.mean, 4.3);
  EXPECT_EQ(summary.first, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(summary.last, (std::vector<float>{7, 8, 9, 10}));
}

TEST(ValueSummary, CountsEachValueInOneBin) {
  std::vector<float> row;
  for (int i = 0; i <= 32; ++i) row.push_back(static_cast<float>(i));
  const ValueSummary summary = Of({row});
  for (size_t bin = 0; bin + 1 < kValueBins; ++bin) EXPECT_EQ(summary.bins[bin], 1) << bin;
  EXPECT_EQ(summary.bins.back(), 2) << "31, and the greatest";
}

TEST(ValueSummary, OneValueIsInTheFirstBin) {
  const ValueSummary summary = Of({{-3}, {-3}});
  EXPECT_EQ(summary.bins.front(), 2);
  EXPECT_EQ(summary.max, -3);
  EXPECT_EQ(summary.first, (std::vector<float>{-3}));
}

TEST(ValueSummary, SetsWhatIsNotFiniteAside) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const ValueSummary summary = Of({{nan, 2, -infinity, 4}});
  EXPECT_EQ(summary.count, 4);
  EXPECT_EQ(summary.not_finite, 2);
  EXPECT_EQ(summary.min, 2);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_EQ(summary.bins.front() + summary.bins.back(), 2);
  EXPECT_EQ(Of({{nan}}).min, 0);
  EXPECT_EQ(Of({}).count, 0);
}

TEST(ValueSummary, KeepsTinyAndHugeExtents) {
  const float most = std::numeric_limits<float>::max();
  const ValueSummary summary = Of({{-most, most, 0}});
  EXPECT_EQ(summary.bins.front(), 1);
  EXPECT_EQ(summary.bins.back(), 1);
  EXPECT_EQ(summary.bins[16], 1);
}

}  // namespace
}  // namespace skald::model
