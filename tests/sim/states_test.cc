// What the engine promises about models with states, on the virtual clock: where requests find
// something to go on from, and how many rows are computed.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/fake_network.h"
#include "sim/oracle.h"
#include "sim/seeded.h"
#include "sim/simulation.h"

namespace skald::sim {
namespace {

constexpr int64_t kContext = 8192;

Workload Server(int64_t max_running, int64_t snapshots) {
  Workload workload;
  workload.core = {.context = kContext,
                   .max_rows = 512,
                   .max_chunk = 512,
                   .max_running = max_running,
                   .target_seconds = 0};
  workload.page_count = 800;
  workload.state_slots = max_running + snapshots;
  workload.step_seconds = 1e-3;
  workload.row_seconds = 1e-5;
  return workload;
}

using Tokens = std::vector<TokenId>;

Tokens Text(uint64_t seed, int64_t length) {
  Seeded draw(seed);
  Tokens tokens;
  for (int64_t i = 0; i < length; ++i) {
    tokens.push_back(static_cast<TokenId>(draw.Between(1, kVocab - 1)));
  }
  return tokens;
}

Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Client Ask(Tokens prompt, int64_t max_tokens, double arrives_seconds = 0) {
  Client client;
  client.request.prompt = std::move(prompt);
  client.request.sampling.temperature = 0;
  client.request.stop = {.max_tokens = max_tokens, .ignore_eos = true};
  client.arrives_seconds = arrives_seconds;
  return client;
}

// Tokens of a request's prompt that were cached when it was admitted.
int64_t CachedOf(const Outcome& outcome, size_t client) {
  for (const Event& event : outcome.events[client]) {
    if (const auto* admitted = event.As<AdmittedEvent>()) return admitted->done;
  }
  return -1;
}

// Four with a common trunk, the others `later` than the first.
Workload FourWithTrunk(int64_t trunk, double later) {
  Workload workload = Server(16, 8);
  for (uint64_t i = 0; i < 4; ++i) {
    const auto tail = Tokens{static_cast<TokenId>(i + 1)} + Text(10 + i, 49);
    workload.clients.push_back(Ask(Text(1, trunk) + tail, 8, i > 0 ? later : 0));
  }
  return workload;
}

// The first computes the trunk, and leaves a snapshot where the others wait to go on: whether they
// come together and one step could compute all of it, or while it is computed.
TEST(States, RequestsThatComeTogetherComputeTheirTrunkOnce) {
  for (const auto& [trunk, later] : {std::pair(300, 0.0), {3000, 0.0}, {3000, 0.01}}) {
    const Outcome outcome = RunWorkload(FourWithTrunk(trunk, later), Fault::kNone);
    EXPECT_EQ(outcome.wrong, "");
    EXPECT_EQ(outcome.prompt_tokens_cached, 3 * trunk) << later;
  }
}

// Whichever of two is admitted first leaves the snapshot for the other: the one with fewer rows.
TEST(States, TheLaterOneMayGoFirst) {
  Workload workload = FourWithTrunk(300, 0);
  workload.clients.resize(2);
  std::vector<TokenId>& longest = workload.clients[0].request.prompt;
  longest = std::move(longest) + Text(5, 150);
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.prompt_tokens_cached, 300);
}

// What somebody waits for stands, whatever else has to go for it.
TEST(States, WhatSomebodyWaitsForStands) {
  Workload workload = Server(2, 0);
  workload.clients = {Ask(Text(9, 2000), 1), Ask(Text(1, 100) + Text(2, 40), 8, 0.2),
                      Ask(Text(1, 100) + Text(3, 40), 8, 0.2)};
  workload.clients[2].request.prompt[100] = workload.clients[1].request.prompt[100] == 1 ? 2 : 1;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(CachedOf(outcome, 1) + CachedOf(outcome, 2), 100);
}

// The second knows no place on the first one's way, and leaves one for the third.
TEST(States, WhereARequestPartedOthersGoOn) {
  Workload workload = Server(4, 4);
  for (uint64_t i = 0; i < 3; ++i) {
    const auto tail = Tokens{static_cast<TokenId>(i + 1)} + Text(10 + i, 90);
    workload.clients.push_back(Ask(Text(1, 300) + tail, 8, 0.2 * static_cast<double>(i)));
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(CachedOf(outcome, 0), 0);
  EXPECT_EQ(CachedOf(outcome, 1), 0);
  EXPECT_EQ(CachedOf(outcome, 2), 300);
}

// The second request with the same system prompt goes on behind it, else the third would.
TEST(States, WhereTheClientSaysOthersGoOn) {
  Workload workload = Server(4, 4);
  for (uint64_t i = 0; i < 2; ++i) {
    const auto tail = Tokens{static_cast<TokenId>(i + 1)} + Text(10 + i, 90);
    workload.clients.push_back(Ask(Text(1, 300) + tail, 8, 0.2 * static_cast<double>(i)));
    workload.clients.back().request.places = {300};
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(CachedOf(outcome, 1), 300);
  const Event& event = *std::find_if(outcome.events[1].begin(), outcome.events[1].end(),
                                     [](const Event& each) { return each.Is<AdmittedEvent>(); });
  EXPECT_EQ(event.As<AdmittedEvent>()->from.snapshot, 300);
}

// Whatever somebody marks: each place costs a step at most, and those near each other nothing.
TEST(States, MarksCostAStepEachAtMost) {
  const auto steps = [](std::vector<int64_t> places) {
    Workload workload = Server(2, 16);
    workload.clients = {Ask(Text(1, 900), 1)};
    workload.clients.back().request.places = std::move(places);
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    EXPECT_EQ(outcome.wrong, "");
    return outcome.steps;
  };
  std::vector<int64_t> near;
  std::vector<int64_t> apart;
  for (int64_t i = 1; i <= int64_t{kMaxPlaces}; ++i) {
    near.push_back(i);
    apart.push_back(50 * i);
  }
  const int64_t unmarked = steps({});
  EXPECT_EQ(steps(near), unmarked);
  EXPECT_GT(steps(apart), unmarked + 8);
  EXPECT_LE(steps(apart), unmarked + int64_t{kMaxPlaces});
}

TEST(States, TheSamePromptAgainNeedsOneRow) {
  Workload workload = Server(2, 2);
  workload.clients = {Ask(Text(1, 500), 20), Ask(Text(1, 500), 20, 0.2)};
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(CachedOf(outcome, 1), 499);
}

// Who edits a long prompt reads at most as much again as lies behind the edit.
TEST(States, AnEditOfALongPromptFindsAPlaceNearIt) {
  for (const int64_t behind : {300, 1000, 3000}) {
    Workload workload = Server(2, 32);
    workload.clients = {Ask(Text(1, 6000), 1), Ask(Text(1, 6000), 1, 0.2)};
    TokenId& edited = workload.clients[1].request.prompt[static_cast<size_t>(6000 - behind)];
    edited = edited == 1 ? 2 : 1;
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    EXPECT_EQ(outcome.wrong, "");
    EXPECT_GE(CachedOf(outcome, 1), 6000 - 2 * behind) << behind;
    EXPECT_GT(CachedOf(outcome, 1), 0) << behind;
  }
}

// Twins compute side by side into pages of their own, and have those of one once pages are short.
TEST(States, TwinsShareTheirPagesOncePagesAreShort) {
  Workload workload = Server(4, 4);
  workload.core.context = 512;
  workload.page_count = 20;
  for (int i = 0; i < 4; ++i) workload.clients.push_back(Ask(Text(7, 300), 200));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.preemptions, 0);
  EXPECT_EQ(outcome.prompt_tokens - outcome.prompt_tokens_cached, 300 + 3);
}

// A slow reader's sequence gives its place up for each token, and computes nothing twice.
TEST(States, ASlowReaderComputesNothingTwice) {
  Workload workload = Server(1, 0);
  for (uint64_t i = 0; i < 2; ++i) {
    workload.clients.push_back(Ask(Text(i, 400), 40));
    workload.clients[i].reader = {.capacity = 4, .reads_one_in = 4};
  }
  workload.clients.push_back(Ask(Text(7, 400), 40, 0.02));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_GT(outcome.preemptions, 20);
  // One slot for three: where another's state takes it, a prompt is read again.
  EXPECT_LT(outcome.rows, 120 * 440);
  workload.state_slots = 3;
  const Outcome roomy = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(roomy.wrong, "");
  EXPECT_GT(roomy.preemptions, 20);
  EXPECT_EQ(roomy.rows, 3 * (400 + 40 - 1));
  // Each takes back what it has left. A copy stands before the last token of each prompt, if there
  // is a slot that nobody waits for.
  EXPECT_LE(roomy.states_copied, 3);
}

// Forty turns of an agent: a system prompt with tools, answers whose first tokens (thoughts) are
// left out of the next prompt, every fifth message edited at its end, every seventh with a question
// beside. Each computes its new tokens, and what lies between them and a place: a token before the
// end of the prompt before, or the end of an answer.
TEST(States, AnAgentComputesItsNewTokens) {
  constexpr int64_t kThoughts = 40;
  constexpr int64_t kAnswer = 90;
  Workload workload = Server(4, 8);
  sampling::Sampler sampler = *sampling::Sampler::Create(kVocab, kernels::ScalarIsa());
  std::vector<int64_t> known;  // tokens that a request before has begun with, by client
  const auto ask = [&](const Tokens& prompt, int64_t common) {
    workload.clients.push_back(Ask(prompt, kAnswer, 0.2 * static_cast<double>(known.size())));
    known.push_back(common);
  };
  Tokens chat = Text(1, 2000);
  int64_t common = 0;
  for (uint64_t turn = 0; turn < 40; ++turn) {
    const Tokens prompt = chat + Text(100 + turn, 20 + 7 * static_cast<int64_t>(turn % 5));
    ask(prompt, common);
    if (turn % 7 == 3) ask(prompt + Text(500 + turn, 30), std::ssize(prompt));
    Tokens sent = prompt;
    if (turn % 5 == 4) {
      const int64_t kept = std::ssize(prompt) - 5;
      sent = Tokens(prompt.begin(), prompt.begin() + kept) + Text(900 + turn, 9);
      ask(sent, kept);
    }
    const Tokens answer = RunAlone(Ask(sent, kAnswer), 0, kContext, &sampler).tokens;
    common = std::ssize(sent);
    chat = sent + Tokens(answer.begin() + kThoughts, answer.end());
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  ASSERT_EQ(outcome.events.size(), known.size());
  for (size_t i = 1; i < known.size(); ++i) {
    // Places nearer than 64 tokens to the one before are left out, and messages (48 tokens at
    // most) are edited inside.
    EXPECT_GT(CachedOf(outcome, i), known[i] - 64 - 48) << "request " << i;
  }
}

}  // namespace
}  // namespace skald::sim
