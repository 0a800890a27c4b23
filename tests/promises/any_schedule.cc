#include "promises/any_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "kv/page_table.h"

namespace skald::promises {
namespace {

using kernels::Isa;

constexpr int64_t kContext = 640;  // three partitions of attention
constexpr int64_t kPages = 64;
constexpr int64_t kSlots = 4;  // of states

// Splits `total` rows into chunks; mostly small ones, sometimes all that is left.
std::vector<int64_t> RandomChunks(int64_t total, std::mt19937& random) {
  std::vector<int64_t> chunks;
  while (total > 0) {
    const int64_t most = random() % 4 == 0 ? total : std::min<int64_t>(total, 1 + random() % 40);
    const int64_t chunk = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
    chunks.push_back(chunk);
    total -= chunk;
  }
  return chunks;
}

// One sequence of a schedule.
struct Running {
  const std::vector<TokenId>* tokens;
  std::vector<kv::PageId> pages;
  kv::StateId state = 0;
  std::vector<int64_t> chunks;  // still to do, in reverse
  int64_t position = 0;
  Logits logits;
};

// `whole`: not cut.
std::vector<Running> Prepare(const std::vector<std::vector<TokenId>>& prompts, std::mt19937& random,
                             bool plain, bool whole) {
  std::vector<kv::PageId> ids(kPages);
  std::iota(ids.begin(), ids.end(), 0);
  if (!plain) std::shuffle(ids.begin(), ids.end(), random);
  const auto first_slot = static_cast<kv::StateId>(random() % kSlots);
  std::vector<Running> running;
  for (const std::vector<TokenId>& prompt : prompts) {
    Running sequence{.tokens = &prompt, .pages = {}, .chunks = {}, .logits = {}};
    const size_t pages = (prompt.size() + 31) / 32;
    sequence.pages.assign(ids.end() - static_cast<int64_t>(pages), ids.end());
    ids.resize(ids.size() - pages);
    // The plain run is one after the other: each has the slot that the one before has left.
    if (!plain) sequence.state = (first_slot + static_cast<kv::StateId>(running.size())) % kSlots;
    const auto total = static_cast<int64_t>(prompt.size());
    sequence.chunks = plain ? std::vector<int64_t>(prompt.size(), 1) : RandomChunks(total, random);
    if (whole) sequence.chunks = {total};
    running.push_back(std::move(sequence));
  }
  return running;
}

// One step over the chosen sequences; every row's logits are collected, or its hidden state where
// the network has no logits.
void RunStep(Runner* runner, const std::vector<Running*>& chosen) {
  std::vector<TokenId> tokens;
  std::vector<model::SequenceRows> rows;
  for (Running* sequence : chosen) {
    const int64_t count = sequence->chunks.back();
    const auto first = sequence->tokens->begin() + sequence->position;
    tokens.insert(tokens.end(), first, first + count);
    rows.push_back({count, sequence->position, sequence->pages, sequence->state});
  }
  std::vector<int32_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int32_t> none;
  const bool embeds = runner->embeds();
  const bool hidden = embeds || runner->turns();
  runner->Forward({.tokens = tokens,
                   .sequences = rows,
                   .logit_rows = hidden ? none : all,
                   .hidden_rows = hidden ? all : none});
  int64_t row = 0;
  for (Running* sequence : chosen) {
    const int64_t count = sequence->chunks.back();
    if (runner->turns()) runner->TurnToLogits(row, count);
    const int64_t first = runner->turns() ? 0 : row;
    for (int64_t i = 0; i < count; ++i) {
      sequence->logits.push_back(embeds ? runner->HiddenRow(row + i) : runner->LogitRow(first + i));
    }
    row += count;
    sequence->position += sequence->chunks.back();
    sequence->chunks.pop_back();
  }
}

void ExpectSameBits(const std::vector<Logits>& expected, const std::vector<Logits>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t sequence = 0; sequence < expected.size(); ++sequence) {
    ASSERT_EQ(expected[sequence].size(), found[sequence].size());
    for (size_t position = 0; position < expected[sequence].size(); ++position) {
      const std::vector<float>& a = expected[sequence][position];
      const std::vector<float>& b = found[sequence][position];
      ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0)
          << "sequence " << sequence << " position " << position << ": " << a[0] << " and " << b[0];
    }
  }
}

void ExpectFinite(const std::vector<Logits>& all) {
  for (const Logits& logits : all) {
    for (const std::vector<float>& row : logits) {
      for (const float value : row) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

std::vector<Isa> IsasOfThisCpu() {
  std::vector<Isa> isas;
  for (const Isa isa : kernels::AllIsas()) {
    if (isa.supported()) {
      isas.push_back(isa);
    } else {
      std::printf("not run: this CPU lacks %s\n", std::string(isa.name).c_str());
    }
  }
  return isas;
}

// Thread counts to try: all of them in a release build; under a sanitizer, which makes each run ten
// times slower, the one that has most to say.
#ifdef SKALD_SANITIZED
constexpr std::array kThreadCounts = {3};
#else
constexpr std::array kThreadCounts = {1, 2, 3};
#endif

}  // namespace

Runner::Runner(const model::Transformer& network, const Conditions& conditions,
               kernels::KvTypes types)
    : network_(network),
      turns_(conditions.schedule_seed % 2 == 1),
      kernels_(kernels::TableFor(conditions.isa)),
      pool_(conditions.threads),
      ropes_(model::RopeTablesOf(network.network(), kContext)),
      store_(*kv::KvStore::Create(model::KvLayoutOf(network.network(), types), kPages)),
      states_(*kv::StateStore::Create(
          {.floats = model::StateFloatsOf(network.network()), .slots = kSlots})),
      workspace_(*model::Workspace::Create(
          network.network(),
          {.rows = kContext, .logit_rows = kContext, .threads = conditions.threads})) {
  for (kv::PageId page = 0; page < kPages; ++page) store_.Poison(page);
  for (kv::StateId state = 0; state < kSlots; ++state) states_.Poison(state);
}

void Runner::Forward(const model::StepBatch& batch) {
  network_.Forward(batch, {.store = store_,
                           .workspace = workspace_,
                           .ropes = ropes_,
                           .execution = {kernels_, pool_},
                           .states = &states_});
}

void Runner::TurnToLogits(int64_t first, int64_t count) {
  const model::Execution execution{kernels_, pool_};
  network_.TurnToLogits(first, count,
                        {.store = store_,
                         .workspace = workspace_,
                         .ropes = ropes_,
                         .execution = execution,
                         .states = &states_});
}

float Runner::Score(std::span<const float> state) {
  const model::Execution execution{kernels_, pool_};
  return model::Score(network_.network().rank_head, state,
                      {.store = store_,
                       .workspace = workspace_,
                       .ropes = ropes_,
                       .execution = execution,
                       .states = &states_});
}

std::vector<float> Runner::HiddenRow(int64_t row) const {
  const float* start = workspace_.normed.row(row);
  return {start, start + model::HiddenWidth(network_.network())};
}

std::vector<float> Runner::LogitRow(int64_t row) const {
  const float* start = workspace_.logits.row(row);
  return {start, start + network_.network().vocab};
}

std::vector<Logits> RunAll(const model::Transformer& network, const Conditions& conditions,
                           kernels::KvTypes types,
                           const std::vector<std::vector<TokenId>>& prompts) {
  Runner runner(network, conditions, types);
  std::mt19937 random(conditions.schedule_seed);
  const bool plain = conditions.schedule_seed == 0;
  std::vector<Running> running = Prepare(prompts, random, plain, runner.embeds());
  for (;;) {
    std::vector<Running*> chosen;
    for (Running& sequence : running) {
      if (sequence.chunks.empty() || (plain && !chosen.empty())) continue;
      if (plain || random() % 2 == 0) chosen.push_back(&sequence);
    }
    const bool done = std::all_of(running.begin(), running.end(),
                                  [](const Running& sequence) { return sequence.chunks.empty(); });
    if (done) break;
    if (!chosen.empty()) RunStep(&runner, chosen);
  }
  std::vector<Logits> all;
  for (Running& sequence : running) all.push_back(std::move(sequence.logits));
  return all;
}

std::vector<std::vector<TokenId>> RandomPrompts(const std::vector<size_t>& lengths, int64_t vocab) {
  std::mt19937 random(7);
  std::vector<std::vector<TokenId>> prompts;
  for (const size_t length : lengths) {
    std::vector<TokenId> prompt(length);
    for (TokenId& token : prompt)
      token = static_cast<TokenId>(random() % static_cast<uint64_t>(vocab));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

void CheckNetwork(const support::RandomModelSpec& spec, const std::vector<size_t>& lengths,
                  kernels::KvTypes types) {
  const model::Transformer network = support::MakeRandomModel(spec);
  const auto prompts = RandomPrompts(lengths, spec.vocab);
  const auto expected = RunAll(network, {}, types, prompts);
  ExpectFinite(expected);
  uint32_t schedule = 1;
  for (const Isa isa : IsasOfThisCpu()) {
    for (const int threads : kThreadCounts) {
      SCOPED_TRACE(testing::Message()
                   << isa.name << ", " << threads << " threads, schedule " << schedule);
      const Conditions conditions{isa, threads, schedule++};
      ExpectSameBits(expected, RunAll(network, conditions, types, prompts));
    }
  }
}

void CheckLastRows(const std::function<void(model::Network&)>& change) {
  const model::Transformer network = support::MakeRandomModel({.change = change});
  const std::vector<TokenId> tokens = RandomPrompts({40}, network.network().vocab).front();
  const std::vector<kv::PageId> pages = {0, 1};
  std::vector<int32_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  Runner whole(network, {}, kernels::KvType::kF16);
  const std::vector<model::SequenceRows> at_once = {{40, 0, pages, 1}};
  whole.Forward({.tokens = tokens, .sequences = at_once, .logit_rows = all});
  Runner parts(network, {.threads = 2}, kernels::KvType::kF16);
  const std::vector<model::SequenceRows> first = {{13, 0, pages, 2}};
  parts.Forward({.tokens = std::span(tokens).first(13), .sequences = first, .logit_rows = {}});
  const std::vector<model::SequenceRows> second = {{27, 13, pages, 2}};
  const std::vector<int32_t> wanted = {3, 26};
  parts.Forward(
      {.tokens = std::span(tokens).subspan(13), .sequences = second, .logit_rows = wanted});
  EXPECT_EQ(parts.LogitRow(0), whole.LogitRow(16));
  EXPECT_EQ(parts.LogitRow(1), whole.LogitRow(39));
}

void CheckLastMixer(const model::Mixer& mixer) {
  CheckLastRows([&](model::Network& network) { network.layers.back().mixer = mixer; });
}

}  // namespace skald::promises
