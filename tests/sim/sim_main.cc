// skald_sim: simulations of the engine by seed.
//
//     skald_sim --seeds 0..100000     runs them all; stops at the first that fails, prints its seed
//     skald_sim --seed 4711           runs one
//     skald_sim --seed 4711 --trace   and prints every step

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/stopwatch.h"
#include "sim/simulation.h"

namespace skald::sim {
namespace {

// Seeds first <= seed < last.
struct Arguments {
  uint64_t first = 0;
  uint64_t last = 1000;
  bool trace = false;
};

bool Parse(int count, char** values, Arguments* arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view flag = values[i];
    if (flag == "--trace") {
      arguments->trace = true;
    } else if (flag == "--seed" && i + 1 < count) {
      arguments->first = std::strtoull(values[++i], nullptr, 10);
      arguments->last = arguments->first + 1;
    } else if (flag == "--seeds" && i + 1 < count) {
      char* end = nullptr;
      arguments->first = std::strtoull(values[++i], &end, 10);
      if (std::string_view(end).substr(0, 2) != "..") return false;
      arguments->last = std::strtoull(end + 2, nullptr, 10);
    } else {
      return false;
    }
  }
  return true;
}

// A CHECK that fails ends the program: a signal handler, which sees globals only, says in which seed.
std::atomic<uint64_t> running_seed;

void PrintReplay() {
  const auto seed = static_cast<unsigned long long>(running_seed.load());
  std::fprintf(stderr, "replay: skald_sim --seed %llu --trace\n", seed);
}

int Run(const Arguments& arguments) {
  const Stopwatch watch;
  Outcome all;
  std::signal(SIGABRT, [](int) { PrintReplay(); });
  for (uint64_t seed = arguments.first; seed < arguments.last; ++seed) {
    running_seed = seed;
    const Outcome outcome =
        RunSeed(seed, Fault::kNone,
                arguments.trace ? [](const std::string& line) { std::printf("%s\n", line.c_str()); }
                                : Trace());
    all.steps += outcome.steps;
    all.tokens += outcome.tokens;
    all.preemptions += outcome.preemptions;
    all.pages_copied += outcome.pages_copied;
    all.pages_evicted += outcome.pages_evicted;
    all.prompt_tokens += outcome.prompt_tokens;
    all.prompt_tokens_cached += outcome.prompt_tokens_cached;
    if (outcome.wrong.empty()) continue;
    std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed),
                 outcome.wrong.c_str());
    PrintReplay();
    return 1;
  }
  std::printf(
      "%llu seeds in %.1f s: %lld steps, %lld tokens, %lld preemptions, %lld pages copied, %lld "
      "evicted, %lld of %lld prompt tokens cached\n",
      static_cast<unsigned long long>(arguments.last - arguments.first), watch.Seconds(),
      static_cast<long long>(all.steps), static_cast<long long>(all.tokens),
      static_cast<long long>(all.preemptions), static_cast<long long>(all.pages_copied),
      static_cast<long long>(all.pages_evicted), static_cast<long long>(all.prompt_tokens_cached),
      static_cast<long long>(all.prompt_tokens));
  return 0;
}

}  // namespace
}  // namespace skald::sim

int main(int count, char** values) {
  skald::sim::Arguments arguments;
  if (!skald::sim::Parse(count, values, &arguments)) {
    std::fprintf(stderr, "usage: skald_sim [--seeds A..B | --seed N] [--trace]\n");
    return 2;
  }
  return skald::sim::Run(arguments);
}
