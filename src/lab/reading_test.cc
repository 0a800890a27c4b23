#include "lab/reading.h"

#include <gtest/gtest.h>

#include <memory>

#include "skald/model.h"

namespace skald::lab {
namespace {

using Rows = std::vector<std::vector<float>>;

class ReadingTest : public testing::Test {
 protected:
  ReadingTest()
      : model_(*LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"})),
        text_(*model_.tokenizer().Encode("Once upon a time there was a small fox. She lived at the "
                                         "edge of a dark wood and counted lanterns.")) {}

  // All rows of the text, `chunk` in a step.
  Rows Read(Lie lie, size_t chunk) const {
    const Machine machine = {.kernels = kernels::TableFor(kernels::DetectIsa()),
                             .threads = std::make_shared<ThreadPool>(1)};
    Result<Reading> reading =
        Reading::Create(model_.transformer(), machine, std::ssize(text_), std::move(lie));
    EXPECT_TRUE(reading.ok());
    Rows rows;
    for (size_t i = 0; i < text_.size(); i += chunk) {
      reading->Append(
          std::span(text_).subspan(i, std::min(chunk, text_.size() - i)),
          [&](std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
    }
    EXPECT_EQ(reading->position(), std::ssize(text_));
    return rows;
  }

  // The first row that differs; as many as there are: none.
  static size_t FirstDifferent(const Rows& a, const Rows& b) {
    return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                               a.begin());
  }

  Model model_;
  std::vector<TokenId> text_;
};

TEST_F(ReadingTest, TheTruthIsTheSameHoweverItIsCut) {
  const Rows at_once = Read({}, 1000);
  ASSERT_EQ(at_once.size(), text_.size());
  EXPECT_EQ(Read({}, 1), at_once);
  EXPECT_EQ(Read({.from = 7}, 5), at_once) << "a lie that says nothing";
}

TEST_F(ReadingTest, ALieChangesNothingBeforeIt) {
  const Rows truth = Read({}, 1000);
  const std::vector<Lie> lies = {{.from = 9, .write_shift = 1},
                                 {.from = 9, .turn_shift = -9},
                                 {.from = 9, .past = Past::kForgotten},
                                 {.from = 9, .wrong_key = 4}};
  for (size_t i = 0; i < lies.size(); ++i) {
    EXPECT_EQ(FirstDifferent(Read(lies[i], 1), truth), 9u) << i;
    EXPECT_EQ(FirstDifferent(Read(lies[i], 1000), truth), 9u) << i;
  }
  // What another writes is there for the next row.
  const Lie shared = {.from = 9, .other = std::vector<TokenId>(text_.size(), 300)};
  EXPECT_EQ(FirstDifferent(Read(shared, 1), truth), 10u);
  // All rows of a step see its last one, and so have all that come behind.
  const Lie open = {.from = 0, .until = 9, .sight = Sight::kAll};
  EXPECT_EQ(FirstDifferent(Read(open, 1000), truth), 0u);
  // Of one row alone there is no future.
  EXPECT_EQ(Read({.from = 0, .until = 1, .sight = Sight::kAll}, 1), truth);
}

// The control of all of them: what stands where nobody reads changes nothing.
TEST_F(ReadingTest, PositionsBehindTheEndAreNeverRead) {
  const auto end = std::ssize(text_);
  Lie lie = {.from = end - 1, .wrong_key = end - 1};
  EXPECT_EQ(Read(lie, 1), Read({}, 1)) << "the row writes its own key over it";
  lie.wrong_key = end - 2;
  EXPECT_EQ(FirstDifferent(Read(lie, 1), Read({}, 1)), static_cast<size_t>(end - 1));
}

// The keys alone: a row that is the only one sees the value with all of its weight.
TEST_F(ReadingTest, AForgottenPastIsATextOfItsOwn) {
  const Rows forgotten = Read({.from = 4, .past = Past::kForgotten}, 1);
  Rows alone;
  for (size_t i = 4; i < text_.size(); ++i) {
    const Machine machine = {.kernels = kernels::TableFor(kernels::DetectIsa()),
                             .threads = std::make_shared<ThreadPool>(1)};
    Result<Reading> reading = Reading::Create(model_.transformer(), machine, 1, {});
    reading->Append({&text_[i], 1}, [&](std::span<const float> row) {
      alone.emplace_back(row.begin(), row.end());
    });
  }
  EXPECT_EQ(Rows(forgotten.begin() + 4, forgotten.end()), alone);
}

// All positions turned further by the same: only differences of positions matter, to a rounding.
TEST_F(ReadingTest, TurningAllAlikeChangesLittle) {
  const Rows truth = Read({}, 1000);
  const Rows turned = Read({.from = 0, .turn_shift = 64}, 1000);
  const Rows behind = Read({.from = 12, .turn_shift = 64}, 1000);
  double alike = 0;
  double apart = 0;
  for (size_t i = 0; i < truth.back().size(); ++i) {
    alike = std::max<double>(alike, std::abs(truth.back()[i] - turned.back()[i]));
    apart = std::max<double>(apart, std::abs(truth.back()[i] - behind.back()[i]));
  }
  EXPECT_GT(apart, 10 * alike);
}

}  // namespace
}  // namespace skald::lab
