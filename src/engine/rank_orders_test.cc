#include "engine/rank_orders.h"

#include <gtest/gtest.h>

#include <functional>

#include "model/transformer.h"

namespace skald::engine {
namespace {

constexpr int64_t kVocab = 11;

// A network as far as an order is held against it: one layer, with a window or without.
model::Network NetworkOf(int64_t window) {
  model::Network network;
  network.vocab = kVocab;
  network.layers.emplace_back();
  network.layers[0].mixer = model::Gqa{
      .width = 16, .heads = 1, .kv_heads = 1, .key_dim = 16, .value_dim = 16, .window = window};
  return network;
}

ResolvedOptions Options() {
  ResolvedOptions options;
  options.context = 100;
  options.max_rows = 8;
  options.max_logit_rows = 3;
  options.page_count = 6;
  options.state_slots = 2;
  options.threads = 1;
  return options;
}

// A step of two sequences, and what may be wrong with it.
struct Step {
  std::vector<TokenId> tokens = {1, 2, 10, 4};
  std::vector<kv::PageId> first_pages = {5, 0};
  std::vector<kv::PageId> first_windows = {};  // empty: the same list
  std::vector<kv::PageId> second_pages = {3};
  std::vector<int32_t> logit_rows = {0, 2};
  std::vector<int32_t> hidden_rows = {3};
  model::SequenceRows first = {.row_count = 3, .first_position = 40, .pages = {}, .state = 1};
  model::SequenceRows second = {
      .row_count = 1, .first_position = 0, .pages = {}, .state = 0, .second_text = 2};

  std::vector<std::byte> Bytes() const {
    model::SequenceRows one = first;
    one.pages = first_windows.empty() ? kv::PageLists(first_pages)
                                      : kv::PageLists(first_pages, first_windows);
    model::SequenceRows two = second;
    two.pages = kv::PageLists(second_pages);
    const std::vector<model::SequenceRows> sequences = {one, two};
    ByteWriter writer;
    StepOrder::Write({.tokens = tokens,
                      .sequences = sequences,
                      .logit_rows = logit_rows,
                      .hidden_rows = hidden_rows},
                     &writer);
    return writer.bytes();
  }
};

Status Read(std::span<const std::byte> bytes, const ResolvedOptions& options, int64_t window = 0) {
  StepOrder order;
  ByteReader reader(bytes);
  return order.Read(&reader, options, NetworkOf(window));
}

std::vector<int64_t> Ids(std::span<const int32_t> ids) { return {ids.begin(), ids.end()}; }

TEST(StepOrder, BringsTheStep) {
  const Step step;
  const std::vector<std::byte> bytes = step.Bytes();
  StepOrder order;
  for (int again = 0; again < 2; ++again) {
    ByteReader reader(bytes);
    ASSERT_TRUE(order.Read(&reader, Options(), NetworkOf(0)).ok());
    const model::StepBatch batch = order.batch();
    EXPECT_EQ(Ids(batch.tokens), Ids(step.tokens));
    EXPECT_EQ(Ids(batch.logit_rows), Ids(step.logit_rows));
    EXPECT_EQ(Ids(batch.hidden_rows), Ids(step.hidden_rows));
    ASSERT_EQ(batch.sequences.size(), 2u);
    EXPECT_EQ(batch.sequences[0].row_count, 3);
    EXPECT_EQ(batch.sequences[0].first_position, 40);
    EXPECT_EQ(batch.sequences[0].state, 1);
    EXPECT_EQ(Ids(batch.sequences[0].pages.full), Ids(step.first_pages));
    EXPECT_EQ(Ids(batch.sequences[0].pages.window), Ids(step.first_pages));
    EXPECT_EQ(batch.sequences[1].second_text, 2);
    EXPECT_EQ(Ids(batch.sequences[1].pages.full), Ids(step.second_pages));
  }
}

TEST(StepOrder, BringsWindowPages) {
  Step step;
  step.first_windows = {kv::kNoPage, 2};
  step.first.first_position = 50;
  const std::vector<std::byte> bytes = step.Bytes();
  StepOrder order;
  ByteReader reader(bytes);
  ResolvedOptions options = Options();
  options.windows = {.pages = 4, .positions = 10};
  ASSERT_TRUE(order.Read(&reader, options, NetworkOf(10)).ok());
  EXPECT_EQ(Ids(order.batch().sequences[0].pages.window), Ids(step.first_windows));
  EXPECT_EQ(Ids(order.batch().sequences[1].pages.window), Ids(step.second_pages));
}

// Every prefix, and every step that reaches beyond what the rank has.
TEST(StepOrder, RefusesWhatReachesBeyond) {
  const std::vector<std::byte> bytes = Step().Bytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Read(std::span(bytes).first(length), Options()).ok()) << length;
  }
  const std::vector<std::function<void(Step*)>> wrongs = {
      [](Step* s) { s->tokens[1] = kVocab; },
      [](Step* s) { s->tokens[1] = -1; },
      [](Step* s) { s->tokens.push_back(1); },
      [](Step* s) { s->tokens.assign(9, 1), s->first.row_count = 8; },
      [](Step* s) { s->first.row_count = 0, s->tokens.resize(1); },
      [](Step* s) { s->first.first_position = -1; },
      [](Step* s) { s->first.first_position = 62; },  // three rows end behind two pages
      [](Step* s) { s->first_pages.assign(4, 0), s->first.first_position = 98; },
      [](Step* s) { s->first_pages[1] = 6; },
      [](Step* s) { s->first_pages[0] = kv::kNoPage; },
      [](Step* s) { s->first.state = 2; },
      [](Step* s) { s->first.state = kv::kNoState; },
      [](Step* s) { s->second.second_text = -1; },
      [](Step* s) {
        s->logit_rows = {0, 0};
      },
      [](Step* s) {
        s->logit_rows = {2, 0};
      },
      [](Step* s) {
        s->logit_rows = {0, 4}, s->hidden_rows.clear();
      },
      [](Step* s) {
        s->logit_rows = {0, 1, 2, 3}, s->hidden_rows.clear();
      },
      [](Step* s) { s->hidden_rows = {2}; },
      [](Step* s) { s->hidden_rows = {-1}; },
  };
  EXPECT_TRUE(Read(Step().Bytes(), Options()).ok());
  for (size_t i = 0; i < wrongs.size(); ++i) {
    Step step;
    wrongs[i](&step);
    EXPECT_FALSE(Read(step.Bytes(), Options()).ok()) << i;
  }
  ResolvedOptions whole = Options();
  whole.whole_texts = true;
  EXPECT_FALSE(Read(Step().Bytes(), whole).ok());
}

TEST(StepOrder, RefusesWindowsThatAreNotThere) {
  ResolvedOptions options = Options();
  options.windows = {.pages = 4, .positions = 10};
  Step step;
  step.first.first_position = 50;  // sees from 41 on, page 1
  step.first_windows = {kv::kNoPage, 3};
  EXPECT_TRUE(Read(step.Bytes(), options, 10).ok());
  const std::vector<std::vector<kv::PageId>> wrongs = {
      {0, kv::kNoPage}, {kv::kNoPage, 4}, {-2, 3}, {kv::kNoPage}, {kv::kNoPage, 3, 3}};
  for (const auto& wrong : wrongs) {
    step.first_windows = wrong;
    EXPECT_FALSE(Read(step.Bytes(), options, 10).ok());
  }
  step.first_windows = {kv::kNoPage, 3};
  step.first.first_position = 40;  // sees page 0
  EXPECT_FALSE(Read(step.Bytes(), options, 10).ok());
}

TEST(RankOrders, BringOptionsAndFacts) {
  ResolvedOptions wanted = Options();
  wanted.windows = {.pages = 4, .positions = 10};
  wanted.kv_types = {kernels::KvType::kQ8, kernels::KvType::kF16};
  ByteWriter writer;
  Write(wanted, &writer);
  ByteReader reader(writer.bytes());
  const Result<ResolvedOptions> found = ReadOptions(&reader);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->context, 100);
  EXPECT_EQ(found->max_rows, 8);
  EXPECT_EQ(found->max_logit_rows, 3);
  EXPECT_EQ(found->page_count, 6);
  EXPECT_EQ(found->window_page_count(), 4);
  EXPECT_EQ(found->windows.positions, 10);
  EXPECT_EQ(found->state_slots, 2);
  EXPECT_EQ(found->kv_types, wanted.kv_types);
  EXPECT_EQ(found->isa.name, wanted.isa.name);
  for (size_t length = 0; length < writer.size(); ++length) {
    ByteReader cut(std::span(writer.bytes()).first(length));
    EXPECT_FALSE(ReadOptions(&cut).ok()) << length;
  }
  ByteWriter facts;
  Write({.memory = {.kv = 1, .states = 2, .activations = 3, .ropes = 4},
         .page_bytes = 5,
         .window_page_bytes = 6,
         .state_bytes = 7},
        &facts);
  const Result<RunnerFacts> read = ReadRunnerFacts(facts.bytes());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->memory.total(), 10);
  EXPECT_EQ(read->page_bytes, 5);
  EXPECT_EQ(read->window_page_bytes, 6);
  EXPECT_EQ(read->state_bytes, 7);
  EXPECT_FALSE(ReadRunnerFacts(std::span(facts.bytes()).first(55)).ok());
}

// An instruction set that this processor does not have is no reason: it takes its own.
TEST(RankOrders, TakeAnotherInstructionSet) {
  ResolvedOptions wanted = Options();
  wanted.isa.name = "of another processor";
  ByteWriter writer;
  Write(wanted, &writer);
  ByteReader reader(writer.bytes());
  const Result<ResolvedOptions> found = ReadOptions(&reader);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->isa.name, ResolveHardware(1, "best")->isa.name);
}

TEST(RankOrders, BringCopies) {
  const auto read = [](const kv::PageCopy& copy, const ResolvedOptions& options) {
    ByteWriter writer;
    Write(copy, &writer);
    ByteReader reader(writer.bytes());
    return ReadPageCopy(&reader, options);
  };
  const kv::PageCopy plain = {.from = 5, .to = 0, .positions = 31};
  ASSERT_TRUE(read(plain, Options()).ok());
  EXPECT_EQ(*read(plain, Options()), plain);
  ResolvedOptions windows = Options();
  windows.windows = {.pages = 4, .positions = 10};
  EXPECT_FALSE(read(plain, windows).ok());
  const kv::PageCopy both = {.from = 5, .to = 0, .positions = 1, .window_from = 3, .window_to = 0};
  ASSERT_TRUE(read(both, windows).ok());
  EXPECT_EQ(*read(both, windows), both);
  EXPECT_FALSE(read(both, Options()).ok());
  EXPECT_FALSE(read({.from = 6, .to = 0, .positions = 1}, Options()).ok());
  EXPECT_FALSE(read({.from = 1, .to = 1, .positions = 1}, Options()).ok());
  EXPECT_FALSE(read({.from = 1, .to = -1, .positions = 1}, Options()).ok());
  EXPECT_FALSE(read({.from = 1, .to = 2, .positions = 0}, Options()).ok());
  EXPECT_FALSE(read({.from = 1, .to = 2, .positions = 32}, Options()).ok());
  const auto read_state = [](const kv::StateCopy& copy) {
    ByteWriter writer;
    Write(copy, &writer);
    ByteReader reader(writer.bytes());
    return ReadStateCopy(&reader, Options());
  };
  ASSERT_TRUE(read_state({0, 1}).ok());
  EXPECT_EQ(*read_state({0, 1}), (kv::StateCopy{0, 1}));
  EXPECT_FALSE(read_state({0, 2}).ok());
  EXPECT_FALSE(read_state({-1, 1}).ok());
}

}  // namespace
}  // namespace skald::engine
