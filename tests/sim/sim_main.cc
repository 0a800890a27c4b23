// skald_sim: simulations of the engine by seed.
//
//     skald_sim --seeds 0..100000     runs them all; stops at the first that fails, prints its seed
//     skald_sim --seed 4711           runs one
//     skald_sim --seed 4711 --trace   and prints every step

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

void PrintReplay(uint64_t seed) {
  std::fprintf(stderr, "replay: skald_sim --seed %llu --trace\n",
               static_cast<unsigned long long>(seed));
}

// `*running` says which seed is at work.
int Run(const Arguments& arguments, uint64_t* running) {
  const Stopwatch watch;
  Outcome all;
  for (uint64_t seed = arguments.first; seed < arguments.last; ++seed) {
    *running = seed;
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
    PrintReplay(seed);
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

// In a process of its own, because a CHECK that fails ends it: that seed is named too.
int RunApart(const Arguments& arguments) {
  void* shared =
      mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* running = static_cast<uint64_t*>(shared);
  const pid_t child = fork();
  if (child == 0) {
    const int code = Run(arguments, running);
    std::fflush(stdout);
    std::_Exit(code);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  PrintReplay(*running);
  return 1;
}

}  // namespace
}  // namespace skald::sim

int main(int count, char** values) {
  skald::sim::Arguments arguments;
  if (!skald::sim::Parse(count, values, &arguments)) {
    std::fprintf(stderr, "usage: skald_sim [--seeds A..B | --seed N] [--trace]\n");
    return 2;
  }
  return skald::sim::RunApart(arguments);
}
