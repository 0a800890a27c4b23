// Whom a draft model serves first where its rows are not enough for all.

#include "sim/draft_model.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "engine/request_state.h"

namespace skald::sim {
namespace {

constexpr int64_t kContext = 256;

// Each has a text of its own.
class DraftModelTest : public testing::Test {
 protected:
  std::unique_ptr<engine::RequestState> Text(int64_t length) {
    Request request;
    ++texts_;
    for (int64_t i = 0; i < length; ++i) {
      request.prompt.push_back(static_cast<TokenId>(1 + (texts_ >> (i % 8)) % (kVocab - 1)));
    }
    request.stop.ignore_eos = true;
    return engine::MakeState({.id = RequestId{texts_},
                              .request = std::move(request),
                              .sink = std::make_shared<EventQueue>()},
                             {}, &pool_, kContext);
  }

  // How many tokens each of them gets guessed, of at most two.
  std::vector<size_t> Guess(const std::vector<const engine::RequestState*>& states, int64_t rows) {
    std::vector<std::vector<TokenId>> guesses(states.size());
    std::vector<engine::DraftWish> wishes;
    for (size_t i = 0; i < states.size(); ++i) {
      wishes.push_back({.sequence = states[i]->lead(), .most = 2, .tokens = &guesses[i]});
    }
    caught_up_ = model_.Propose(wishes, rows);
    EXPECT_EQ(model_.Check(), "");
    std::vector<size_t> counts;
    for (const auto& guess : guesses) counts.push_back(guess.size());
    return counts;
  }

  kv::PagePool pool_{0};
  DraftModel model_{{.page_count = 100, .max_rows = 64, .context = kContext}};
  uint64_t texts_ = 0;
  int64_t caught_up_ = 0;  // rows of the last Guess
};

using Counts = std::vector<size_t>;

TEST_F(DraftModelTest, APromptIsComputedInStepsAndThenGuessedBehind) {
  const auto text = Text(100);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Guess({text.get()}, 24), Counts{0});
    EXPECT_EQ(caught_up_, 24);
  }
  // Four rows are left.
  EXPECT_EQ(Guess({text.get()}, 24), Counts{2});
  EXPECT_EQ(caught_up_, 4);
  EXPECT_EQ(Guess({text.get()}, 24), Counts{2});
  EXPECT_EQ(caught_up_, 0);
}

// The tokens of a step, two guesses and one more, are no prompt.
TEST_F(DraftModelTest, ATextThatGoesOnNeedsNoRowsOfPrompts) {
  const auto three = Text(3);
  const auto four = Text(4);
  EXPECT_EQ(Guess({three.get(), four.get()}, 0), (Counts{2, 0}));
}

TEST_F(DraftModelTest, WhoLacksFewestGoesFirst) {
  const auto longer = Text(50);
  const auto shorter = Text(20);
  EXPECT_EQ(Guess({longer.get(), shorter.get()}, 24), (Counts{0, 2}));
  EXPECT_EQ(Guess({longer.get(), shorter.get()}, 24), (Counts{0, 2}));
  EXPECT_EQ(Guess({longer.get(), shorter.get()}, 24), (Counts{2, 2}));
}

// In every step one comes that lacks fewer.
TEST_F(DraftModelTest, ALongPromptDoesNotWaitForEver) {
  const auto longer = Text(90);
  int steps = 0;
  int guessed = 0;
  for (bool done = false; !done && steps < 200; ++steps) {
    const auto shorter = Text(18);
    const Counts counts = Guess({longer.get(), shorter.get()}, 18);
    done = counts[0] > 0;
    guessed += int{counts[1] > 0};
    model_.Forget(*shorter->lead());
  }
  EXPECT_LE(steps, 5 * 8);
  EXPECT_GE(guessed, steps * 3 / 4);
}

}  // namespace
}  // namespace skald::sim
