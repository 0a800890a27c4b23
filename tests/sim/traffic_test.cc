// What the engine promises about many requests, on the virtual clock: sharing, famine, cancels,
// deadlines, priorities, streams beside prompts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/fake_network.h"
#include "sim/seeded.h"
#include "sim/simulation.h"
#include "support/shared_data.h"

namespace skald::sim {
namespace {

// An engine as a server would run it: long contexts, many pages.
Workload Server(int64_t context, int64_t page_count) {
  Workload workload;
  workload.core = {.context = context,
                   .max_rows = 512,
                   .max_chunk = 512,
                   .max_running = 16,
                   .target_seconds = 0};
  workload.page_count = page_count;
  workload.step_seconds = 10e-3;
  workload.row_seconds = 0.5e-3;
  return workload;
}

std::vector<TokenId> Text(uint64_t seed, int64_t length) {
  Seeded draw(seed);
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < length; ++i) {
    tokens.push_back(static_cast<TokenId>(draw.Between(1, kVocab - 1)));
  }
  return tokens;
}

std::vector<TokenId> operator+(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Client Ask(std::vector<TokenId> prompt, int64_t max_tokens, double arrives_seconds = 0) {
  Client client;
  client.request.prompt = std::move(prompt);
  client.request.stop = {.max_tokens = max_tokens, .ignore_eos = true};
  client.arrives_seconds = arrives_seconds;
  return client;
}

// Times of the tokens of one client's first sequence.
std::vector<double> TokenTimes(const Outcome& outcome, size_t client) {
  std::vector<double> times;
  for (const Event& event : outcome.events[client]) {
    if (event.Is<TokenEvent>() && event.sequence == 0) times.push_back(event.seconds);
  }
  return times;
}

double EndOf(const Outcome& outcome, size_t client) {
  return outcome.events[client].back().seconds;
}

FinishReason ReasonOf(const Outcome& outcome, size_t client) {
  return outcome.events[client].back().As<FinishedEvent>()->reason;
}

// Requests that arrive together compute their common trunk once: 3,000 + 4 x 50 tokens.
TEST(Traffic, RunningRequestsSharePrefixesToTheToken) {
  Workload workload = Server(4096, 200);
  const std::vector<TokenId> trunk = Text(1, 3000);
  for (uint64_t i = 0; i < 4; ++i) {
    workload.clients.push_back(Ask(trunk + Text(10 + i, 50), 8));
    // The first own token differs: nothing more is shared by chance.
    workload.clients.back().request.prompt[3000] = static_cast<TokenId>(i + 1);
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.prompt_tokens - outcome.prompt_tokens_cached, 3200);
}

// 16 requests of 15 pages each on 60 pages: four times what there is.
TEST(Traffic, PageFamineDelaysButFailsNobody) {
  Workload workload = Server(480, 60);
  for (uint64_t i = 0; i < 16; ++i) workload.clients.push_back(Ask(Text(i, 240), 240));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.tokens, 16 * 240);
  EXPECT_GT(outcome.preemptions, 0);
}

// The smallest pool that Submit accepts for one request serves them all.
TEST(Traffic, TheSmallestPoolServesRequestsInTurn) {
  Workload workload = Server(480, 16);
  for (uint64_t i = 0; i < 6; ++i) workload.clients.push_back(Ask(Text(i % 2, 240), 240));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.tokens, 6 * 240);
}

// A tenant fills all places with long answers; one that comes has its first token within a few
// steps, not when the first of these ends. Nothing of what gave way is lost.
TEST(Traffic, ATenantThatFillsAllPlacesGivesBackWhatAnotherWants) {
  for (const bool wide : {false, true}) {
    Workload workload = Server(1024, 600);
    workload.core.max_running = 8;
    for (uint64_t i = 0; i < 8; ++i) {
      Client client = Ask(Text(i, 20), 600);
      client.request.tenant = 1;
      client.request.n = wide ? 8 : 1;
      workload.clients.push_back(client);
    }
    for (uint64_t i = 0; i < 20; ++i) {
      Client client = Ask(Text(100 + i, 20), 4, 1.0 + 0.05 * static_cast<double>(i));
      client.request.tenant = 2;
      workload.clients.push_back(client);
    }
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    ASSERT_EQ(outcome.wrong, "");
    const double step = workload.step_seconds + 60 * workload.row_seconds;
    for (size_t client = 8; client < outcome.events.size(); ++client) {
      const double asked = workload.clients[client].arrives_seconds;
      EXPECT_LT(TokenTimes(outcome, client).front() - asked, 6 * step) << wide << " " << client;
    }
    EXPECT_EQ(outcome.tokens, (wide ? 64 : 8) * 600 + 20 * 4);
  }
}

// Eight answers to one prompt of 1,000 tokens: it is computed once, and each copies one page.
TEST(Traffic, SequencesOfOneRequestShareThePrompt) {
  Workload workload = Server(2048, 60);
  workload.clients.push_back(Ask(Text(3, 1000), 20));
  workload.clients.back().request.n = 8;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.tokens, 8 * 20);
  EXPECT_EQ(outcome.pages_copied, 7);
  EXPECT_EQ(outcome.preemptions, 0);
}

// A stream's time between tokens while a prompt of 4,096 tokens arrives: at most three times what
// it is alone, at the 99th percentile.
TEST(Traffic, LongPromptsDoNotStallStreams) {
  Workload workload = Server(8192, 600);
  workload.clients.push_back(Ask(Text(4, 20), 600));
  workload.clients.push_back(Ask(Text(5, 4096), 4, 1.0));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  const std::vector<double> times = TokenTimes(outcome, 0);
  std::vector<double> between;
  for (size_t i = 1; i < times.size(); ++i) between.push_back(times[i] - times[i - 1]);
  const double alone = workload.step_seconds + workload.row_seconds;
  std::sort(between.begin(), between.end());
  EXPECT_LE(between[between.size() * 99 / 100], 3 * alone);
  // And the prompt gets on: it is not cut into single rows.
  EXPECT_LT(EndOf(outcome, 1), EndOf(outcome, 0));
}

// 31 tokens behind four prompts of 30,000, also with the lowest priority: the first token within
// three times a chunk and the own prompt, and the long ones lose little.
TEST(Traffic, AShortPromptDoesNotWaitForLongOnes) {
  for (const int32_t priority : {0, -1000}) {
    Workload workload = Server(30100, 4000);
    for (uint64_t i = 0; i < 4; ++i) workload.clients.push_back(Ask(Text(i, 30000), 4));
    workload.clients.push_back(Ask(Text(9, 31), 4, 1.0));
    workload.clients[4].request.priority = priority;
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    ASSERT_EQ(outcome.wrong, "");
    const double chunk = workload.step_seconds + 512 * workload.row_seconds;
    const double own = workload.step_seconds + 31 * workload.row_seconds;
    EXPECT_LE(TokenTimes(outcome, 4)[0] - 1.0, 3 * (chunk + own)) << "priority " << priority;
    for (size_t i = 0; i < 4; ++i) {
      const double in_order = static_cast<double>(i + 1) * 30000 / 512 * chunk;
      EXPECT_LE(TokenTimes(outcome, i)[0], 1.15 * in_order) << "prompt " << i;
    }
  }
}

// A place is free, and the first in the queue needs four: others take it, but not for ever.
TEST(Traffic, OneThatDoesNotFitYetIdlesNoPlaceAndStillGetsIts) {
  Workload workload = Server(512, 200);
  workload.core.max_running = 4;
  workload.core.max_overtaken = 10;
  workload.clients.push_back(Ask(Text(0, 50), 300));
  workload.clients.push_back(Ask(Text(1, 50), 20, 0.1));
  workload.clients[1].request.n = 4;
  for (uint64_t i = 2; i < 60; ++i) {
    workload.clients.push_back(Ask(Text(i, 20), 40, 0.2 * static_cast<double>(i)));
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  EXPECT_LT(TokenTimes(outcome, 2)[0] - 0.4, 0.1);
  int before = 0;
  for (size_t i = 2; i < 60; ++i) {
    before += int{TokenTimes(outcome, i)[0] < TokenTimes(outcome, 1)[0]};
  }
  EXPECT_GE(before, 10);
  EXPECT_LE(before, 12);
}

// A reader that takes one event in two steps: one stream decodes, two, one, two. The prompt beside
// them got nothing before their end.
TEST(Traffic, APromptGetsOnBesideAReaderThatIsHalfAsFast) {
  Workload workload = Server(4096, 600);
  workload.clients.push_back(Ask(Text(0, 20), 1200));
  workload.clients.push_back(Ask(Text(1, 20), 1200));
  workload.clients[1].reader = {.capacity = 4, .reads_one_in = 2, .reads_events = 1};
  workload.clients.push_back(Ask(Text(2, 3000), 4, 1.0));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  const auto streamed = [&](size_t client) {
    const std::vector<double> times = TokenTimes(outcome, client);
    const double first = TokenTimes(outcome, 2)[0];
    return std::count_if(times.begin(), times.end(),
                         [&](double time) { return time > 1.0 && time < first; });
  };
  // A step of twice a stream's time has some twenty rows for the prompt.
  EXPECT_LE(streamed(0), 300);
}

// A cache that fills the pool takes nothing from speculation: what is cached makes room for
// guesses. Before, each guess across the border of a page was dropped.
TEST(Traffic, GuessesGoOnWhenTheCacheIsFull) {
  int64_t steps[2];
  for (const int full : {0, 1}) {
    Workload workload = Server(2048, full == 1 ? 40 : 200);
    workload.guessing = Guessing::kScripted;
    workload.core.most_draft = workload.core.least_draft = 8;
    workload.core.max_draft_rows = 64;
    workload.clients.push_back(Ask(Text(0, 1200), 1));
    workload.clients.push_back(Ask(Text(1, 20), 600, 5.0));
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    ASSERT_EQ(outcome.wrong, "");
    steps[full] = outcome.steps;
  }
  EXPECT_EQ(steps[1], steps[0]);
}

// A server with a draft model that costs a fifth.
Workload ServerWithDraft() {
  Workload workload = Server(8192, 1000);
  workload.guessing = Guessing::kDraft;
  workload.draft_page_count = 1000;
  workload.draft_rows = 512 + 64;
  workload.draft_row_seconds = workload.row_seconds / 5;
  workload.core.most_draft = workload.core.least_draft = 4;
  workload.core.max_draft_rows = 64;
  return workload;
}

// The draft model has to compute a prompt too, when its stream begins: not in one step, which made
// the others wait.
TEST(Traffic, ThePromptOfADraftModelDoesNotStallStreams) {
  Workload workload = ServerWithDraft();
  workload.clients.push_back(Ask(Text(4, 20), 600));
  workload.clients[0].request.max_draft = 0;
  workload.clients.push_back(Ask(Text(5, 4096), 100, 1.0));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  const std::vector<double> times = TokenTimes(outcome, 0);
  double longest = 0;
  for (size_t i = 1; i < times.size(); ++i) longest = std::max(longest, times[i] - times[i - 1]);
  EXPECT_LE(longest, 3 * (workload.step_seconds + 6 * workload.row_seconds));
}

// Of a request alone nobody waits for the draft's prompt: the guesses come at once.
TEST(Traffic, WhoIsAloneHasGuessesAtOnce) {
  Workload workload = ServerWithDraft();
  workload.clients.push_back(Ask(Text(5, 500), 100));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  EXPECT_GE(outcome.draft_tokens, 4 * (outcome.steps - 3));
}

// Four answers to a prompt: the draft model computes it once.
TEST(Traffic, ADraftModelComputesAPromptOnce) {
  Workload workload = ServerWithDraft();
  workload.clients.push_back(Ask(Text(5, 2000), 10));
  workload.clients[0].request.n = 4;
  workload.clients[0].request.stop.max_tokens = 100;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  EXPECT_GT(outcome.draft_tokens, 0);
  EXPECT_GE(outcome.draft_rows, 2000);
  EXPECT_LE(outcome.draft_rows, 2000 + 4 * 100 * 5);
}

// Steps that gave tokens to the stream of a client.
size_t StepsOf(const Outcome& outcome, size_t client) {
  const std::vector<double> times = TokenTimes(outcome, client);
  return std::set<double>(times.begin(), times.end()).size();
}

// A long prompt for the draft model to compute, and short ones one after the other: neither keeps
// the others from guesses.
TEST(Traffic, DraftsCatchUpSideBySide) {
  Workload workload = ServerWithDraft();
  workload.clients.push_back(Ask(Text(1, 6000), 600));
  for (uint64_t i = 0; i < 60; ++i) {
    workload.clients.push_back(Ask(Text(2 + i, 300), 80, 3.5 + 0.3 * static_cast<double>(i)));
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  ASSERT_EQ(outcome.wrong, "");
  EXPECT_LE(StepsOf(outcome, 0), 450u);
  for (size_t i = 1; i <= 60; ++i) EXPECT_LE(StepsOf(outcome, i), 60u) << "prompt " << i;
}

// One key with forty prompts, another with one: that one waits for a chunk or two, not for twenty.
TEST(Traffic, AFloodOfOneTenantDoesNotDelayAnother) {
  Workload workload = Server(2048, 1000);
  workload.core.max_running = 4;
  for (uint64_t i = 0; i < 40; ++i) workload.clients.push_back(Ask(Text(i, 1000), 40));
  workload.clients.push_back(Ask(Text(99, 1000), 4, 2.0));
  const double alone = 10 * workload.step_seconds + 1000 * workload.row_seconds;
  double first[2];
  for (const int tenant : {0, 1}) {
    workload.clients[40].request.tenant = tenant;
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    ASSERT_EQ(outcome.wrong, "");
    first[tenant] = TokenTimes(outcome, 40)[0] - 2.0;
  }
  // It waits for a place: the texts of 40 tokens of those that run.
  EXPECT_LE(first[1], 4 * alone);
  EXPECT_GE(first[0], 10 * alone);
}

TEST(Traffic, HigherPriorityGoesFirst) {
  Workload workload = Server(512, 100);
  workload.core.max_running = 1;
  for (uint64_t i = 0; i < 3; ++i) workload.clients.push_back(Ask(Text(i, 100), 20));
  workload.clients[2].request.priority = 1;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_LT(EndOf(outcome, 2), EndOf(outcome, 0));
  EXPECT_LT(EndOf(outcome, 0), EndOf(outcome, 1));
}

// It does not wait for what runs, and what runs resumes with the tokens it had.
TEST(Traffic, HigherPriorityTakesThePlaceOfWhatRuns) {
  Workload workload = Server(512, 100);
  workload.core.max_running = 2;
  for (uint64_t i = 0; i < 2; ++i) workload.clients.push_back(Ask(Text(i, 100), 300));
  workload.clients.push_back(Ask(Text(2, 100), 20, 1.0));
  workload.clients[2].request.priority = 1;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_LT(EndOf(outcome, 2), 1.5);
  EXPECT_EQ(outcome.preemptions, 1);
  EXPECT_LT(EndOf(outcome, 0), EndOf(outcome, 1));
}

TEST(Traffic, HigherPriorityTakesThePagesOfWhatRuns) {
  Workload workload = Server(512, 22);
  for (uint64_t i = 0; i < 2; ++i) workload.clients.push_back(Ask(Text(i, 150), 130));
  workload.clients.push_back(Ask(Text(2, 300), 20, 1.0));
  workload.clients[2].request.priority = 1;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_LT(EndOf(outcome, 2), 2);
  EXPECT_LT(EndOf(outcome, 0), EndOf(outcome, 1));
}

// The second answer of a request that was displaced does not wait for the first one's end.
TEST(Traffic, ADisplacedSequenceComesBackWhileItsTwinRuns) {
  Workload workload = Server(512, 100);
  workload.core.max_running = 2;
  workload.clients.push_back(Ask(Text(0, 100), 300));
  workload.clients[0].request.n = 2;
  workload.clients.push_back(Ask(Text(1, 100), 20, 1.0));
  workload.clients[1].request.priority = 1;
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.preemptions, 1);
  const auto& events = outcome.events[0];
  const auto resumed = std::find_if(events.begin(), events.end(),
                                    [](const Event& event) { return event.Is<ResumedEvent>(); });
  ASSERT_NE(resumed, events.end());
  EXPECT_EQ(resumed->sequence, 1);
  EXPECT_NEAR(resumed->seconds, EndOf(outcome, 1), 0.05);
}

// Beams that others displace again and again, in the smallest pool that Submit accepts for them:
// 2 pages of the prompt, 3 x (2 pages and one to copy into), and one.
TEST(Traffic, DisplacedBeamsFindTheirPagesAgain) {
  for (uint64_t text = 0; text < 20; ++text) {
    Workload workload = Server(512, 12);
    workload.core.max_running = 3;
    workload.clients.push_back(Ask(Text(text, 70), 50));
    workload.clients[0].request.beam_search = {.beams = 3};
    for (uint64_t i = 1; i < 4; ++i) {
      workload.clients.push_back(Ask(Text(100 + i, 40 * i), 4, 0.2 * static_cast<double>(i)));
      workload.clients.back().request.priority = 1;
    }
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    EXPECT_EQ(outcome.wrong, "") << "text " << text;
    EXPECT_GE(outcome.preemptions, 9);
  }
}

// A flood of requests of higher priority, always one more than can run.
TEST(Traffic, NoFloodOfHigherPriorityKeepsARequestWaitingForEver) {
  Workload workload = Server(512, 100);
  workload.core.max_running = 1;
  workload.core.max_overtaken = 10;
  workload.clients.push_back(Ask(Text(0, 100), 100));
  for (uint64_t i = 1; i < 200; ++i) {
    workload.clients.push_back(Ask(Text(i, 10), 20, 0.1 * static_cast<double>(i)));
    workload.clients.back().request.priority = 5;
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  int before = 0;
  for (size_t i = 1; i < 200; ++i) before += int{EndOf(outcome, i) < EndOf(outcome, 0)};
  EXPECT_GE(before, 10);
  EXPECT_LE(before, 11);
}

// Twins that arrive together have the pages of one, once pages are short.
TEST(Traffic, RequestsThatComputeTheSameTokensShareTheirPages) {
  Workload workload = Server(512, 20);
  for (int i = 0; i < 4; ++i) workload.clients.push_back(Ask(Text(7, 300), 200));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_EQ(outcome.preemptions, 0);
  EXPECT_EQ(outcome.prompt_tokens - outcome.prompt_tokens_cached, 300 + 3);
}

TEST(Traffic, DeadlinesEndRequestsThatRunAndThatWait) {
  Workload workload = Server(512, 100);
  workload.core.max_running = 1;
  for (uint64_t i = 0; i < 2; ++i) {
    workload.clients.push_back(Ask(Text(i, 100), 400));
    workload.clients.back().request.deadline_seconds = 0.5;
  }
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(FinishReasonName(ReasonOf(outcome, i)), "deadline");
    EXPECT_NEAR(EndOf(outcome, i), 0.5, 0.1);
  }
}

// A reader that never reads holds neither pages nor a place.
TEST(Traffic, AReaderThatSleepsStopsNobodyElse) {
  Workload workload = Server(512, 18);
  workload.core.max_running = 1;
  workload.clients.push_back(Ask(Text(0, 300), 100));
  workload.clients[0].reader = {.capacity = 4, .reads_one_in = 0};
  workload.clients[0].request.deadline_seconds = 100;
  workload.clients.push_back(Ask(Text(1, 300), 100, 0.1));
  const Outcome outcome = RunWorkload(workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_LT(EndOf(outcome, 1), 10);
  EXPECT_EQ(FinishReasonName(ReasonOf(outcome, 0)), "deadline");
}

// Every request ends, and Outcome::wrong says if a page or a node of the tree is left behind.
TEST(Traffic, ACancelStormLeavesNothingBehind) {
#ifdef SKALD_SANITIZED
  constexpr int64_t kRequests = 10000;
#else
  constexpr int64_t kRequests = 100000;
#endif
  constexpr int64_t kPerEngine = 2500;
  int64_t ended = 0;
  for (uint64_t round = 0; round < kRequests / kPerEngine; ++round) {
    Seeded draw(round);
    Workload workload = Server(256, 40);
    for (int64_t i = 0; i < kPerEngine; ++i) {
      const auto trunk = static_cast<uint64_t>(draw.Between(0, 5));
      const double now = static_cast<double>(i) * 0.01;
      Client client = Ask(Text(trunk, draw.Between(1, 60)) + Text(draw.Between(0, 9), 8),
                          draw.Between(0, 12), now);
      if (draw.OneIn(2)) client.cancelled_seconds = now + draw.Uniform() * 0.3;
      if (draw.OneIn(10)) client.request.n = 3;
      workload.clients.push_back(std::move(client));
    }
    const Outcome outcome = RunWorkload(workload, Fault::kNone);
    ASSERT_EQ(outcome.wrong, "") << "round " << round;
    ended += static_cast<int64_t>(outcome.events.size());
  }
  EXPECT_EQ(ended, kRequests);
}

// The number behind `key` in a line of JSON without nesting.
int64_t Field(const std::string& line, const std::string& key) {
  const size_t at = line.find("\"" + key + "\": ");
  return at == std::string::npos ? -1
                                 : std::strtoll(line.c_str() + at + key.size() + 4, nullptr, 10);
}

// A recorded trace with lengths and times a sixteenth: its blocks of 512 tokens become a page.
struct Replay {
  Workload workload;
  int64_t repeated_tokens = 0;  // of blocks that an earlier request began with too
};

Replay ReplayOf(const std::string& path, size_t count) {
  constexpr int64_t kScale = 16;
  constexpr int64_t kBlock = 512 / kScale;
  Replay replay{.workload = Server(8192, 8000)};
  replay.workload.step_seconds = 1e-3;
  replay.workload.row_seconds = 2e-5;
  std::set<uint64_t> seen;
  std::ifstream file(path);
  std::string line;
  while (replay.workload.clients.size() < count && std::getline(file, line)) {
    std::vector<TokenId> prompt;
    const int64_t length = Field(line, "input_length") / kScale;
    int64_t repeated = 0;
    // Equal ids are equal prefixes: the id says everything up to the end of its block.
    for (size_t at = line.find('[') + 1; at < line.size() && line[at] != ']';) {
      char* end = nullptr;
      const uint64_t block = std::strtoull(line.c_str() + at, &end, 10);
      at = static_cast<size_t>(end - line.c_str()) + (*end == ',' ? 2 : 0);
      repeated += seen.insert(block).second ? 0 : kBlock;
      prompt = std::move(prompt) + Text(1000 + block, kBlock);
    }
    prompt.resize(static_cast<size_t>(length), 1);
    replay.repeated_tokens += std::min(repeated, length - 1);
    replay.workload.clients.push_back(
        Ask(std::move(prompt), Field(line, "output_length") / kScale,
            static_cast<double>(Field(line, "timestamp")) / 1000 / kScale));
  }
  return replay;
}

// On recorded conversations, whatever an earlier request began with is computed once.
void ExpectHistoryIsShared(const std::string& path) {
  const Replay replay = ReplayOf(path, 150);
  ASSERT_EQ(replay.workload.clients.size(), 150u);
  const Outcome outcome = RunWorkload(replay.workload, Fault::kNone);
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_GT(replay.repeated_tokens, 0);
  EXPECT_GE(outcome.prompt_tokens_cached, replay.repeated_tokens);
}

TEST(Trace, ConversationsShareTheirHistory) {
  ExpectHistoryIsShared(SKALD_SOURCE_DIR "/tests/data/traces/conversations.jsonl");
}

TEST(TraceSharedData, ConversationsShareTheirHistory) {
  ExpectHistoryIsShared(support::SharedData("traces/mooncake-conversation.jsonl"));
}

}  // namespace
}  // namespace skald::sim
