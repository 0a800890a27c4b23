#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::engine {
namespace {

// A running sequence with `left` tokens to compute.
RunningView Running(int64_t computed, int64_t left, int64_t pages = 0) {
  return {.computed = computed, .length = computed + left, .pages = pages};
}

WaitingView Waiting(int64_t computed, int64_t left, int64_t pages = 0) {
  return {.computed = computed, .length = computed + left, .pages = pages};
}

std::string Plan(const SchedulerState& state, const Budget& budget) {
  StepPlan plan;
  Scheduler().Plan(state, budget, &plan);
  return plan.ToString();
}

constexpr Budget kAmple = {.rows = 1000, .prefill_rows = 1000, .sequences = 100};

TEST(Scheduler, NothingToDoIsAnEmptyPlan) { EXPECT_EQ(Plan({}, kAmple), ""); }

TEST(Scheduler, DecodeGoesFirstThenChunksThenAdmissions) {
  const SchedulerState state = {.running = {Running(0, 40), Running(9, 1), Running(7, 1)},
                                .waiting = {Waiting(32, 8, 1)},
                                .available_pages = 10};
  EXPECT_EQ(Plan(state, kAmple),
            "running 1 [9, 10) samples; running 2 [7, 8) samples; running 0 [0, 40) samples; "
            "waiting 0 [32, 40) samples");
}

// Nine tenths to the shortest, the rest to who waits.
TEST(Scheduler, ThePromptWithTheFewestRowsLeftGoesFirst) {
  const SchedulerState state = {.running = {Running(9, 1), Running(0, 90), Running(5, 40)}};
  EXPECT_EQ(Plan(state, {.rows = 100, .prefill_rows = 50, .sequences = 8}),
            "running 0 [9, 10) samples; running 1 [0, 10); running 2 [5, 45) samples");
  EXPECT_EQ(Plan(state, {.rows = 100, .prefill_rows = 30, .sequences = 8}),
            "running 0 [9, 10) samples; running 1 [0, 3); running 2 [5, 32)");
  EXPECT_EQ(Plan(state, {.rows = 100, .prefill_rows = 0, .sequences = 8}),
            "running 0 [9, 10) samples");
  EXPECT_EQ(Plan(state, {.rows = 11, .prefill_rows = 50, .sequences = 8}),
            "running 0 [9, 10) samples; running 1 [0, 1); running 2 [5, 14)");
}

// What the old order did: the newcomer got nothing until all four were done.
TEST(Scheduler, AShortNewcomerDoesNotWaitForLongPrompts) {
  SchedulerState state = {.running = {Running(512, 29488), Running(0, 30000), Running(0, 30000)},
                          .waiting = {Waiting(0, 31, 1)},
                          .available_pages = 9000};
  const Budget budget = {.rows = 512, .prefill_rows = 512, .sequences = 16};
  EXPECT_EQ(Plan(state, budget),
            "running 0 [512, 942); running 1 [0, 51); waiting 0 [0, 31) samples");
  // Nor one of low priority, which is among the patient in the next turn.
  state.waiting[0].priority = -1000;
  EXPECT_EQ(Plan(state, budget), "running 0 [512, 973); running 1 [0, 51)");
  state.turn = 1;
  EXPECT_EQ(Plan(state, budget),
            "running 0 [512, 973); running 1 [0, 20); waiting 0 [0, 31) samples");
}

// Texts that must not be cut: who has waited longest, then by rank what fits.
TEST(Scheduler, WholeTextsGoAsTheyAreOrWait) {
  SchedulerState state = {.waiting = {Waiting(0, 60, 2), Waiting(0, 50, 2), Waiting(0, 30, 1)},
                          .available_pages = 100,
                          .prompts = PromptRule::kWhole};
  const Budget budget = {.rows = 100, .prefill_rows = 100, .sequences = 8};
  EXPECT_EQ(Plan(state, budget), "waiting 1 [0, 50) samples; waiting 2 [0, 30) samples");
  state.waiting[0].waited = 1;
  EXPECT_EQ(Plan(state, budget), "waiting 0 [0, 60) samples; waiting 2 [0, 30) samples");
  // All rows go to one that needs them.
  state.waiting[0].length = 100;
  EXPECT_EQ(Plan(state, budget), "waiting 0 [0, 100) samples");
  state.waiting[0].waited = 0;
  state.waiting[1].priority = 1;
  EXPECT_EQ(Plan(state, budget), "waiting 1 [0, 50) samples; waiting 2 [0, 30) samples");
}

TEST(Scheduler, NobodyPassesAWholeTextThatIsDue) {
  SchedulerState state = {.waiting = {Waiting(0, 60, 2), Waiting(0, 50, 2), Waiting(0, 30, 1)},
                          .available_pages = 100,
                          .prompts = PromptRule::kWhole};
  const Budget budget = {.rows = 100, .prefill_rows = 100, .sequences = 8};
  state.waiting[0].due = state.waiting[1].due = true;
  // Before the one that has waited longest; and what is left is not enough for the other.
  state.waiting[2].waited = 9;
  EXPECT_EQ(Plan(state, budget), "waiting 1 [0, 50) samples");
  state.waiting[0].length = 50;
  EXPECT_EQ(Plan(state, budget), "waiting 0 [0, 50) samples; waiting 1 [0, 50) samples");
}

TEST(Scheduler, WholeTextsFitPlacesPagesAndTheirTenant) {
  SchedulerState state = {.waiting = {Waiting(0, 32, 1), Waiting(0, 33, 2), Waiting(0, 34, 2)},
                          .available_pages = 100,
                          .prompts = PromptRule::kWhole};
  EXPECT_EQ(Plan(state, {.rows = 100, .prefill_rows = 100, .sequences = 1}),
            "waiting 0 [0, 32) samples");
  state.available_pages = 5;
  EXPECT_EQ(Plan(state, kAmple), "waiting 0 [0, 32) samples; waiting 1 [0, 33) samples");
  state.available_pages = 100;
  state.tenants[0].max_running = 2;
  EXPECT_EQ(Plan(state, kAmple), "waiting 0 [0, 32) samples; waiting 1 [0, 33) samples");
}

TEST(Scheduler, PriorityGoesBeforeLength) {
  SchedulerState state = {.running = {Running(0, 40), Running(0, 400)}};
  state.running[1].priority = 1;
  EXPECT_EQ(Plan(state, {.rows = 100, .prefill_rows = 100, .sequences = 8}),
            "running 0 [0, 10); running 1 [0, 90)");
}

// A row in ten to who has waited longest, so that each of R prompts has one in 2 R turns.
TEST(Scheduler, ThePatientTakeTurns) {
  SchedulerState state = {.running = {Running(0, 10), Running(0, 80), Running(0, 70)},
                          .waiting = {Waiting(0, 90, 1), Waiting(0, 95, 1)},
                          .available_pages = 100};
  state.running[1].waited = 3;
  state.running[2].waited = 4;
  state.waiting[0].waited = 9;
  state.waiting[1].waited = 12;
  const Budget budget = {.rows = 10, .prefill_rows = 10, .sequences = 8};
  EXPECT_EQ(Plan(state, budget), "running 0 [0, 9); running 2 [0, 1)");
  state.turn = 1;
  EXPECT_EQ(Plan(state, budget), "running 0 [0, 9); waiting 1 [0, 1)");
  // One that does not fit is not patient.
  state.waiting[1].sequences = 99;
  EXPECT_EQ(Plan(state, budget), "running 0 [0, 9); waiting 0 [0, 1)");
}

TEST(Scheduler, TheTenantThatHasUsedLeastGoesFirst) {
  SchedulerState state = {.running = {Running(0, 30), Running(0, 300)},
                          .tenants = {{.used = 64 * kTenantScale}, {}}};
  state.running[1].tenant = 1;
  const Budget budget = {.rows = 100, .prefill_rows = 100, .sequences = 8};
  EXPECT_EQ(Plan(state, budget), "running 0 [0, 16); running 1 [0, 84)");
  // Of twice the share, it gets twice the rows.
  state.tenants = {{.share = 2}, {}};
  state.running[0] = Running(0, 600);
  EXPECT_EQ(Plan(state, {.rows = 100, .prefill_rows = 96, .sequences = 8}),
            "running 0 [0, 64); running 1 [0, 32)");
  // Its streams count too.
  state = {.running = {Running(0, 300), Running(0, 300)}, .tenants = {{}, {}}};
  state.running[1].tenant = 1;
  for (int i = 0; i < 40; ++i) state.running.push_back(Running(9, 1));
  StepPlan plan;
  Scheduler().Plan(state, {.rows = 1000, .prefill_rows = 48, .sequences = 99}, &plan);
  EXPECT_EQ(plan.rows[plan.rows.size() - 2].count, 4);
  EXPECT_EQ(plan.rows.back().count, 44);
}

TEST(Scheduler, ATenantRunsNoMoreThanItsBoundAndDelaysNobody) {
  SchedulerState state = {.running = {Running(9, 1)},
                          .waiting = {Waiting(0, 4, 1), Waiting(0, 5, 1)},
                          .available_pages = 100,
                          .tenants = {{.max_running = 1}, {}}};
  state.waiting[0].due = true;
  state.waiting[1].tenant = 1;
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 10) samples; waiting 1 [0, 5) samples");
  // One request may always run.
  state.running[0].tenant = 1;
  state.waiting[0].sequences = 2;
  EXPECT_EQ(Plan(state, kAmple),
            "running 0 [9, 10) samples; waiting 0 [0, 4) samples; waiting 1 [0, 5) samples");
}

TEST(Scheduler, OneThatDoesNotFitIsPassedOverUntilItIsDue) {
  SchedulerState state = {.running = {Running(9, 1)},
                          .waiting = {Waiting(0, 4, 1), Waiting(0, 90, 9), Waiting(0, 4, 1)},
                          .available_pages = 8};
  EXPECT_EQ(Plan(state, kAmple),
            "running 0 [9, 10) samples; waiting 0 [0, 4) samples; waiting 2 [0, 4) samples");
  state.waiting[1].due = true;
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 10) samples");
  state.available_pages = 12;
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 10) samples; waiting 1 [0, 90) samples");
}

// A place is free, and the first in the queue needs four.
TEST(Scheduler, FreePlacesAreNotKeptForOneThatNeedsMore) {
  SchedulerState state = {.running = {Running(9, 1)},
                          .waiting = {Waiting(0, 4, 1), Waiting(0, 9, 1)},
                          .available_pages = 100};
  state.waiting[0].sequences = 4;
  EXPECT_EQ(Plan(state, {.rows = 99, .prefill_rows = 99, .sequences = 4}),
            "running 0 [9, 10) samples; waiting 1 [0, 9) samples");
}

// Whoever is admitted first, the other one shares what it computes.
TEST(Scheduler, OneOfTwoWithTheSameBeginningWaits) {
  SchedulerState state = {.waiting = {Waiting(0, 90, 3), Waiting(0, 80, 3)}, .available_pages = 99};
  state.waiting[0].shares_with = 2;
  state.waiting[1].shares_with = 1;
  EXPECT_EQ(Plan(state, kAmple), "waiting 1 [0, 80) samples");
  state.available_pages = 0;
  state.waiting[1].pages = 9;
  state.waiting[1].sequences = 101;
  EXPECT_EQ(Plan(state, kAmple), "waiting 0 [0, 90) samples");
}

// The short one waits for the long one, which computes the 50 tokens they share as if it had no
// more to do.
TEST(Scheduler, APrefixThatOthersWaitForGoesFirst) {
  SchedulerState state = {.running = {Running(0, 60), Running(0, 400)}};
  state.running[1].wanted_rows = 50;
  EXPECT_EQ(Plan(state, {.rows = 100, .prefill_rows = 60, .sequences = 8}),
            "running 0 [0, 10); running 1 [0, 50)");
}

// A sequence of the request that has pages, those of the others not yet forked, and what else.
TEST(Scheduler, RequestsThatForkNeedAPageForEachSequence) {
  SchedulerState state = {.running = {Running(9, 60, 2)}, .waiting = {Waiting(0, 4, 1)}};
  state.waiting[0].sequences = 4;
  state.available_pages = 8;  // 2 + 1, and 1 + 4
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 69) samples; waiting 0 [0, 4) samples");
  state.available_pages = 7;
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 69) samples");
  state.available_pages = 8;
  state.running[0].unforked = 1;
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 69) samples");
}

// Beams that wait for each other.
TEST(Scheduler, RowsThatAreHeldAreNotComputed) {
  SchedulerState state = {.running = {Running(9, 1), Running(0, 40), Running(0, 8)},
                          .waiting = {Waiting(4, 6, 1)},
                          .available_pages = 10};
  for (RunningView& running : state.running) running.held = 1;
  state.running[2].held = 8;
  state.waiting[0].held = 1;
  EXPECT_EQ(Plan(state, kAmple), "running 1 [0, 39); waiting 0 [4, 9)");
}

TEST(Scheduler, GuessesTakeWhatRowsAreLeft) {
  SchedulerState state = {.running = {Running(9, 1), Running(0, 4), Running(7, 1)}};
  for (RunningView& running : state.running) running.drafts = 3;
  state.running[1].drafts = 0;
  Budget budget = kAmple;
  EXPECT_EQ(Plan(state, budget),
            "running 0 [9, 10) samples; running 2 [7, 8) samples; running 1 [0, 4) samples");
  budget.draft_rows = 5;
  EXPECT_EQ(Plan(state, budget),
            "running 0 [9, 13) samples and 3 drafts; running 2 [7, 10) samples and 2 drafts; "
            "running 1 [0, 4) samples");
  budget.rows = 7;
  EXPECT_EQ(Plan(state, budget),
            "running 0 [9, 11) samples and 1 drafts; running 2 [7, 8) samples; "
            "running 1 [0, 4) samples");
}

// Three that run in a full engine, and one of priority 1 that waits.
SchedulerState FullHouse() {
  SchedulerState state = {.running = {Running(9, 1), Running(9, 1), Running(9, 1)},
                          .waiting = {Waiting(0, 4, 1)},
                          .available_pages = 100};
  state.waiting[0].priority = 1;
  return state;
}
constexpr Budget kThreePlaces = {.rows = 3, .prefill_rows = 3, .sequences = 3};

TEST(Scheduler, AHigherPriorityTakesThePlaceOfTheLastOfALowerOne) {
  SchedulerState state = FullHouse();
  EXPECT_EQ(Plan(state, kThreePlaces),
            "displaced 2; running 0 [9, 10) samples; running 1 [9, 10) samples; waiting 0 [0, 1)");
  state.running[2].displaceable = false;
  EXPECT_EQ(Plan(state, kThreePlaces),
            "displaced 1; running 0 [9, 10) samples; running 2 [9, 10) samples; waiting 0 [0, 1)");
  state.waiting[0].sequences = 2;
  EXPECT_EQ(Plan(state, kThreePlaces),
            "displaced 1; displaced 0; running 2 [9, 10) samples; waiting 0 [0, 2)");
  state.waiting[0].sequences = 3;
  EXPECT_EQ(Plan(state, kThreePlaces),
            "running 0 [9, 10) samples; running 1 [9, 10) samples; running 2 [9, 10) samples");
}

TEST(Scheduler, EqualsAndHigherOnesAreNotDisplaced) {
  SchedulerState state = FullHouse();
  for (RunningView& running : state.running) running.priority = 1;
  const std::string nothing =
      "running 0 [9, 10) samples; running 1 [9, 10) samples; running 2 [9, 10) samples";
  EXPECT_EQ(Plan(state, kThreePlaces), nothing);
  state.running[2].priority = 0;
  EXPECT_NE(Plan(state, kThreePlaces), nothing);
}

// Six places, of which two tenants have five and one; the second has one more that waits.
SchedulerState OneTenantHasMost() {
  SchedulerState state = {.waiting = {Waiting(0, 4, 1)},
                          .available_pages = 100,
                          .tenants = {TenantView{}, TenantView{}}};
  for (int i = 0; i < 6; ++i) state.running.push_back(Running(9, 1));
  state.running[5].tenant = 1;
  state.waiting[0].tenant = 1;
  return state;
}

TEST(Scheduler, WhatATenantHasOnLoanIsGivenBack) {
  constexpr Budget kSixPlaces = {.rows = 10, .prefill_rows = 10, .sequences = 6};
  const auto displaced = [&](const SchedulerState& state) {
    const std::string plan = Plan(state, kSixPlaces);
    return plan.starts_with("displaced") ? plan.substr(0, plan.find("; running")) : "";
  };
  SchedulerState state = OneTenantHasMost();
  EXPECT_EQ(displaced(state), "displaced 4");
  // Again and again, and whatever the priority of what is on loan.
  state.running[4].displaceable = false;
  state.running[4].priority = 7;
  EXPECT_EQ(displaced(state), "displaced 4");
  // A part of three: two more are its own, and three are not.
  state.waiting[0].sequences = 2;
  EXPECT_EQ(displaced(state), "displaced 4; displaced 3");
  state.waiting[0].sequences = 3;
  EXPECT_EQ(displaced(state), "");
  // Two shares of three are four places: one of five is on loan.
  state.waiting[0].sequences = 1;
  state.tenants[0].share = 2;
  EXPECT_EQ(displaced(state), "displaced 4");
  state.waiting[0].sequences = 2;
  EXPECT_EQ(displaced(state), "");
  // Nobody takes back from its own, nor from who has no more than its part.
  state = OneTenantHasMost();
  state.waiting[0].tenant = 0;
  EXPECT_EQ(displaced(state), "");
  state = OneTenantHasMost();
  for (const size_t i : {3U, 4U}) state.running[i].tenant = 1;
  EXPECT_EQ(displaced(state), "");
}

TEST(Scheduler, PagesOnLoanAreGivenBack) {
  SchedulerState state = OneTenantHasMost();
  state.available_pages = 6;  // what the six reserve
  for (size_t i = 0; i < 5; ++i) state.running[i].freed = 10;
  // Of 56 pages half are a tenant's own: the fifth and the fourth are on loan, one is enough.
  EXPECT_EQ(Plan(state, kAmple).substr(0, 22), "displaced 4; running 0");
  state.waiting[0].pages = 20;
  EXPECT_EQ(Plan(state, kAmple).substr(0, 24), "displaced 4; displaced 3");
  state.waiting[0].pages = 26;  // three would be needed
  EXPECT_EQ(Plan(state, kAmple).substr(0, 9), "running 0");
}

// One that wants all places, and was overtaken often, waits for them. Others go on with their part.
TEST(Scheduler, ADueRequestDoesNotKeepOthersFromTheirPart) {
  SchedulerState state = OneTenantHasMost();
  state.running.pop_back();
  state.waiting = {Waiting(0, 4, 1), Waiting(0, 4, 1), Waiting(0, 4, 1)};
  state.waiting[0].sequences = 6;
  state.waiting[0].due = true;
  state.waiting[2].tenant = 1;
  constexpr Budget kSixPlaces = {.rows = 20, .prefill_rows = 20, .sequences = 6};
  EXPECT_EQ(Plan(state, kSixPlaces),
            "running 0 [9, 10) samples; running 1 [9, 10) samples; running 2 [9, 10) samples; "
            "running 3 [9, 10) samples; running 4 [9, 10) samples; waiting 2 [0, 4) samples");
  state.waiting[2].sequences = 4;  // more than its part
  EXPECT_EQ(Plan(state, kSixPlaces).find("waiting"), std::string::npos);
}

TEST(Scheduler, AsManyAreDisplacedAsThePagesNeed) {
  SchedulerState state = FullHouse();
  state.waiting[0].pages = 6;
  state.available_pages = 3;  // what the three reserve
  state.running[1].freed = 4;
  state.running[2].freed = 1;
  // 6 + 1 wanted; 1 + 1 from the last, 4 + 1 from the one before.
  EXPECT_EQ(Plan(state, kAmple),
            "displaced 2; displaced 1; running 0 [9, 10) samples; waiting 0 [0, 4) samples");
  state.waiting[0].pages = 7;
  EXPECT_EQ(Plan(state, kAmple), "displaced 2; displaced 1; displaced 0; waiting 0 [0, 4) samples");
  state.running[0].displaceable = false;
  EXPECT_EQ(Plan(state, kAmple),
            "running 0 [9, 10) samples; running 1 [9, 10) samples; running 2 [9, 10) samples");
}

TEST(Scheduler, RunningSequencesKeepThePagesTheyNeedAndOneMore) {
  SchedulerState state = {.running = {Running(9, 60, 2)}, .waiting = {Waiting(0, 4, 1)}};
  state.available_pages = 5;  // 2 + 1 for the running one, 1 + 1 for the other
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 69) samples; waiting 0 [0, 4) samples");
  state.available_pages = 4;
  EXPECT_EQ(Plan(state, kAmple), "running 0 [9, 69) samples");
}

TEST(Scheduler, AloneTheFirstIsAdmittedWhateverItsPages) {
  const SchedulerState state = {.waiting = {Waiting(0, 4, 9), Waiting(0, 4, 1)},
                                .available_pages = 0};
  EXPECT_EQ(Plan(state, kAmple), "waiting 0 [0, 4) samples");
}

TEST(Scheduler, WhoWaitsForAPrefixIsPassedOver) {
  SchedulerState state = {.waiting = {Waiting(0, 90, 3), Waiting(0, 90, 3), Waiting(0, 7, 1)},
                          .available_pages = 99};
  state.waiting[1].waits_for_prefix = true;
  EXPECT_EQ(Plan(state, kAmple), "waiting 0 [0, 90) samples; waiting 2 [0, 7) samples");
}

TEST(Scheduler, PlacesAreKeptForSequencesThatWillFork) {
  SchedulerState state = {
      .running = {Running(0, 9)}, .waiting = {Waiting(0, 9, 1)}, .available_pages = 99};
  state.running[0].unforked = 2;
  EXPECT_EQ(Plan(state, {.rows = 99, .prefill_rows = 99, .sequences = 3}),
            "running 0 [0, 9) samples");
  EXPECT_EQ(Plan(state, {.rows = 99, .prefill_rows = 99, .sequences = 4}),
            "running 0 [0, 9) samples; waiting 0 [0, 9) samples");
  state.waiting[0].sequences = 2;
  EXPECT_EQ(Plan(state, {.rows = 99, .prefill_rows = 99, .sequences = 4}),
            "running 0 [0, 9) samples");
}

TEST(Scheduler, APausedSequenceComputesItsPromptButSamplesNothing) {
  SchedulerState state = {.running = {Running(0, 9), Running(5, 1)}};
  state.running[0].paused = state.running[1].paused = true;
  EXPECT_EQ(Plan(state, kAmple), "running 0 [0, 8)");
}

TEST(Scheduler, TheVictimIsTheLastPausedElseTheLast) {
  std::vector<RunningView> running(3);
  EXPECT_EQ(Scheduler().Victim(running), 2);
  running[0].paused = true;
  EXPECT_EQ(Scheduler().Victim(running), 0);
  running[1].paused = true;
  EXPECT_EQ(Scheduler().Victim(running), 1);
}

}  // namespace
}  // namespace skald::engine
