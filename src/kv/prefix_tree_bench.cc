// Speed of the prefix tree. Items are tokens, but for eviction: pages. What it cannot say: the cost
// of cache misses in a tree that shares the machine with a model.
#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "base/check.h"
#include "kv/page_pool.h"
#include "kv/page_table.h"
#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

constexpr Namespace kSpace{1};
constexpr int64_t kPrompt = 4096;
constexpr int64_t kPromptPages = kPrompt / 32;
constexpr int64_t kPrompts = 512;  // in the tree: 2 M tokens in 64 Ki pages

// A pool and a tree with room for one prompt more than kPrompts.
struct Cache {
  PagePool pool{(kPrompts + 1) * kPromptPages};
  PrefixTree tree{&pool};
  std::vector<PageCopy> copies;
};

// Prompts that share their first half.
std::vector<TokenId> Prompt(int64_t number) {
  std::vector<TokenId> tokens(kPrompt);
  std::iota(tokens.begin(), tokens.end(), 0);
  for (auto i = tokens.begin() + kPrompt / 2; i != tokens.end(); ++i) {
    *i += static_cast<TokenId>(1 + number) * static_cast<TokenId>(kPrompt);
  }
  return tokens;
}

// Matches what it can, and inserts the rest.
void Run(Cache* cache, std::span<const TokenId> tokens) {
  PageTable table(&cache->pool, kPrompt);
  PrefixTree::Pin pin = cache->tree.Acquire(kSpace, tokens, &table);
  CHECK(table.PrepareWrite(pin.tokens(), std::ssize(tokens), &cache->copies));
  cache->tree.Insert(&pin, tokens.subspan(static_cast<size_t>(pin.tokens())), &table);
}

std::unique_ptr<Cache> FullCache() {
  auto cache = std::make_unique<Cache>();
  for (int64_t number = 0; number < kPrompts; ++number) Run(cache.get(), Prompt(number));
  return cache;
}

void Match(benchmark::State& state) {
  const std::unique_ptr<Cache> cache = FullCache();
  const std::vector<TokenId> tokens = Prompt(kPrompts / 2);
  for (auto _ : state) {
    const int64_t matched = cache->tree.Match(kSpace, tokens);
    CHECK(matched == kPrompt);
  }
  state.SetItemsProcessed(state.iterations() * kPrompt);
}
BENCHMARK(Match);

void AcquireAndRelease(benchmark::State& state) {
  const std::unique_ptr<Cache> cache = FullCache();
  const std::vector<TokenId> tokens = Prompt(kPrompts / 2);
  PageTable table(&cache->pool, kPrompt);
  for (auto _ : state) {
    const PrefixTree::Pin pin = cache->tree.Acquire(kSpace, tokens, &table);
    CHECK(pin.tokens() == kPrompt);
    table.Truncate(0);
  }
  state.SetItemsProcessed(state.iterations() * kPrompt);
}
BENCHMARK(AcquireAndRelease);

// What people see of it: a step waits for this where somebody looks. Items are pages.
void View(benchmark::State& state) {
  const std::unique_ptr<Cache> cache = FullCache();
  for (auto _ : state) {
    const PrefixView view = cache->tree.View();
    CHECK(!view.edges.empty());
  }
  state.SetItemsProcessed(state.iterations() * cache->tree.node_count());
}
BENCHMARK(View);

// A running sequence after each step: makes one position writable and shows it to the others.
void InsertOneToken(benchmark::State& state) {
  const std::unique_ptr<Cache> cache = FullCache();
  cache->tree.Evict(cache->pool.total_count() / 2);
  const std::vector<TokenId> prompt = Prompt(kPrompts / 2);
  std::optional<PageTable> table;
  PrefixTree::Pin pin;
  TokenId number = 0;
  for (auto _ : state) {
    if (!table || pin.tokens() == 2 * kPrompt) {
      pin.Release();
      table.emplace(&cache->pool, 2 * kPrompt);
      pin = cache->tree.Acquire(kSpace, prompt, &*table);
      number -= 1;  // not a token of anybody else
    }
    const int64_t length = pin.tokens();
    if (!table->PrepareWrite(length, length + 1, &cache->copies)) {
      cache->tree.Evict(1);
      CHECK(table->PrepareWrite(length, length + 1, &cache->copies));
    }
    cache->tree.Insert(&pin, {&number, 1}, &*table);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(InsertOneToken);

// A prompt nothing of which is known, from look-up to release, in a full pool: evicts as much.
void InsertPrompt(benchmark::State& state) {
  const std::unique_ptr<Cache> cache = FullCache();
  std::vector<TokenId> tokens(kPrompt);
  TokenId number = 0;
  for (auto _ : state) {
    for (TokenId& token : tokens) token = --number;
    cache->tree.Evict(kPromptPages - cache->pool.free_count());
    Run(cache.get(), tokens);
  }
  state.SetItemsProcessed(state.iterations() * kPrompt);
}
BENCHMARK(InsertPrompt);

void EvictEverything(benchmark::State& state) {
  int64_t pages = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<Cache> cache = FullCache();
    state.ResumeTiming();
    pages += cache->tree.Evict(cache->pool.total_count());
    state.PauseTiming();
    cache.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(pages);
}
BENCHMARK(EvictEverything)->Iterations(20);

}  // namespace
}  // namespace skald::kv
