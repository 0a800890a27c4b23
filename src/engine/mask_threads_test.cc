#include "engine/mask_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "grammar/test_vocabulary.h"
#include "grammar/token_table.h"
#include "skald/constraint.h"
#include "skald/grammar.h"

namespace skald::engine {
namespace {

std::shared_ptr<MaskJob> Job(const Constraint& constraint, const MaskOrder& order = {}) {
  grammar::ConstraintState state(constraint);
  EXPECT_TRUE(state.Advance('a').ok());
  return std::make_shared<MaskJob>(std::move(state), order);
}

void WaitFor(const MaskJob& job) {
  while (!job.is_done) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

// Some tenths of a second each, if nobody stops it.
Constraint Costly(const Vocabulary& vocabulary) {
  return *Constraint::Create(*Grammar::FromRegex("(.*[a-f].{30}){20}"), vocabulary);
}

TEST(MaskThreads, MakesTheMaskThatAStepWouldHave) {
  const Vocabulary vocabulary = grammar::ManyWords();
  const Constraint constraint = Costly(vocabulary);
  MaskThreads masks;
  const auto job = Job(constraint);
  masks.Begin(job);
  WaitFor(*job);
  ASSERT_TRUE(job->status.ok()) << job->status.message();
  EXPECT_GT(job->seconds, 0);
  std::vector<uint64_t> made(vocabulary.table().mask_words());
  // It is there: no step is needed.
  grammar::MaskBudget none = {.steps = 0};
  ASSERT_TRUE(job->state.FillMask(made, &none).ok());
  std::vector<uint64_t> expected(made.size());
  ASSERT_TRUE(Job(constraint)->state.FillMask(expected).ok());
  EXPECT_EQ(made, expected);
}

// Of those that wait the one goes first for whose tenant, and request, masks have taken least.
TEST(MaskThreads, NobodyWaitsForMoreThanOneMaskOfWhoHasHadMany) {
  const Vocabulary vocabulary = grammar::ManyWords();
  const Constraint constraint = Costly(vocabulary);
  MaskThreads masks;
  std::vector<std::shared_ptr<MaskJob>> greedy;
  for (int i = 0; i < 12; ++i)
    greedy.push_back(Job(constraint, {.tenant_seconds = 9, .request_seconds = 1.0 * i}));
  for (const auto& job : greedy) masks.Begin(job);
  const auto modest = Job(constraint, {.tenant_seconds = 1, .request_seconds = 5});
  masks.Begin(modest);
  WaitFor(*modest);
  int before = 0;
  for (const auto& job : greedy) before += int{job->is_done};
  EXPECT_LT(before, 6);  // one, but for what came while this thread had no processor
  WaitFor(*greedy.back());
  for (const auto& job : greedy) EXPECT_TRUE(job->is_done && job->status.ok());
}

TEST(MaskThreads, WhatNobodyWantsIsGivenUp) {
  const Vocabulary vocabulary = grammar::ManyWords();
  const Constraint constraint = Costly(vocabulary);
  MaskThreads masks;
  std::vector<std::shared_ptr<MaskJob>> jobs;
  for (int i = 0; i < 50; ++i) {
    jobs.push_back(Job(constraint));
    const AwaitedMask awaited(jobs.back(), {});  // gone at once
    masks.Begin(jobs.back());
  }
  const auto wanted = Job(constraint, {.tenant_seconds = 1});
  masks.Begin(wanted);
  WaitFor(*wanted);
  EXPECT_TRUE(wanted->status.ok());
  for (const auto& job : jobs) {
    EXPECT_TRUE(!job->is_done || job->status.code() == ErrorCode::kCancelled);
    EXPECT_EQ(job.use_count(), 1) << "what nobody wants is kept";
  }
}

TEST(MaskThreads, EndsInTheMiddleOfAMask) {
  const Vocabulary vocabulary = grammar::ManyWords();
  const Constraint constraint = Costly(vocabulary);
  std::vector<std::shared_ptr<MaskJob>> jobs;
  for (int i = 0; i < 50; ++i) jobs.push_back(Job(constraint));
  {
    MaskThreads masks;
    for (const auto& job : jobs) masks.Begin(job);
  }
  EXPECT_FALSE(jobs.back()->is_done);
}

}  // namespace
}  // namespace skald::engine
