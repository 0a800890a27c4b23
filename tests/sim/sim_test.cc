// The engine under simulated traffic: every request's tokens are those of the request alone, and
// nothing is lost, shared wrongly, or starved on the way (invariants.h). Then the proof that the
// simulation can see: planted faults, each found.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cctype>
#include <cstdio>
#include <string>

#include "base/check.h"
#include "sim/simulation.h"

namespace skald::sim {
namespace {

#ifdef SKALD_SANITIZED
constexpr uint64_t kSeeds = 300;
#else
constexpr uint64_t kSeeds = 5000;
#endif
constexpr uint64_t kFaultSeeds = 2000;

TEST(Simulation, EveryRequestAnswersAsIfAlone) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = RunSeed(seed, Fault::kNone);
    ASSERT_EQ(outcome.wrong, "") << "replay: skald_sim --seed " << seed << " --trace";
  }
}

// Each found a fault that the seeds above did not.
TEST(Simulation, SeedsThatOnceFailed) {
  for (const uint64_t seed : {5301, 6902, 33510, 46250, 73197, 230311, 260866, 543200, 769151,
                              49659, 2437918, 2367058, 2264433}) {
    EXPECT_EQ(RunSeed(seed, Fault::kNone).wrong, "") << "seed " << seed;
  }
}

TEST(Simulation, TheSameSeedIsTheSameRun) {
  std::string runs[2];
  for (std::string& run : runs) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      RunSeed(seed, Fault::kNone, [&](const std::string& line) { run += line + '\n'; });
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

// A simulation that never gets into trouble proves nothing.
TEST(Simulation, MeetsWhatItIsFor) {
  Outcome all;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Outcome outcome = RunSeed(seed, Fault::kNone);
    all.preemptions += outcome.preemptions;
    all.pages_copied += outcome.pages_copied;
    all.pages_evicted += outcome.pages_evicted;
    all.window_pages_dropped += outcome.window_pages_dropped;
    all.prompt_tokens_cached += outcome.prompt_tokens_cached;
    all.constrained_tokens += outcome.constrained_tokens;
    all.masks += outcome.masks;
    all.draft_tokens += outcome.draft_tokens;
    all.draft_tokens_accepted += outcome.draft_tokens_accepted;
  }
  EXPECT_GT(all.constrained_tokens, 500);
  EXPECT_GT(all.masks, 500);
  EXPECT_GT(all.preemptions, 100);
  EXPECT_GT(all.pages_copied, 100);
  EXPECT_GT(all.pages_evicted, 100);
  EXPECT_GT(all.window_pages_dropped, 50);
  EXPECT_GT(all.prompt_tokens_cached, 1000);
  EXPECT_GT(all.draft_tokens_accepted, 500);
  EXPECT_GT(all.draft_tokens - all.draft_tokens_accepted, 500);
}

// Of the seeds that have a shelf.
TEST(Simulation, MeetsShelvesThatGiveAndThatHang) {
  Outcome all;
  for (uint64_t seed = 3; seed < 1000; seed += 5) {
    const Outcome outcome = RunSeed(seed, Fault::kNone);
    all.pages_restored += outcome.pages_restored;
    all.windows_restored += outcome.windows_restored;
    all.states_restored += outcome.states_restored;
    all.fetches_resumed += outcome.fetches_resumed;
    all.fetches_given_up += outcome.fetches_given_up;
  }
  EXPECT_GT(all.pages_restored, 50);
  EXPECT_GT(all.windows_restored, 15);
  EXPECT_GT(all.states_restored, 10);
  EXPECT_GT(all.fetches_resumed, 4);
  EXPECT_GT(all.fetches_given_up, 4);
}

// Of seeds whose steps make few of the masks.
TEST(Simulation, MeetsMasksThatComeLate) {
  int64_t awaited = 0;
  for (uint64_t seed = 0; seed < 2000; seed += 11)
    awaited += RunSeed(seed, Fault::kNone).masks_awaited;
  EXPECT_GT(awaited, 500);
}

// Stops the process at the first seed that shows the fault; `*seed` says which it was.
void RunUntilFound(Fault fault, uint64_t* seed) {
  for (*seed = 0; *seed < kFaultSeeds; ++*seed) {
    const Outcome outcome = RunSeed(*seed, fault);
    if (!outcome.wrong.empty()) CheckFailed(outcome.wrong.c_str(), __FILE__, __LINE__);
  }
}

class PlantedFault : public testing::TestWithParam<FaultName> {};

// In a process of its own, because some faults end in a CHECK of the engine, which counts as found.
TEST_P(PlantedFault, IsFound) {
  void* shared =
      mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* seed = static_cast<uint64_t*>(shared);
  EXPECT_DEATH(RunUntilFound(GetParam().fault, seed), "CHECK failed");
  std::printf("%s: found at seed %llu\n", std::string(GetParam().name).c_str(),
              static_cast<unsigned long long>(*seed));
  munmap(shared, sizeof(uint64_t));
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedFault, testing::ValuesIn(kFaults),
                         [](const auto& instance) {
                           std::string name;
                           for (const char c : instance.param.name) {
                             name += c == ' ' || c == '_' ? '_' : c;
                           }
                           std::erase_if(name, [](char c) {
                             return c != '_' && !std::isalnum(static_cast<unsigned char>(c));
                           });
                           return name;
                         });

}  // namespace
}  // namespace skald::sim
