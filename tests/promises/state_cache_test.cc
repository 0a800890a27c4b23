// Models with layers that carry a state go on from where an earlier request left its own: the same
// tokens and probabilities as from the beginning, for every family that has such layers. What
// crowds do to each other is a matter of schedule_test.

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "engine/completion_sink.h"
#include "promises/cache_case.h"
#include "support/shared_data.h"

namespace skald {
namespace {

using namespace cache_case;

EngineOptions Behind(const disk::TestFolder& folder, int64_t state_memory = -1) {
  return WithFolder(folder, {.threads = 1, .state_memory = state_memory, .max_running = 1});
}

class StateCacheTest : public CacheTest {};

// The state of a request stands behind all its tokens but the last, which nobody has computed.
TEST_P(StateCacheTest, ATurnGoesOnFromTheAnswerBefore) {
  Engine engine = Make();
  Tokens chat = Text(50);
  int64_t computed = 0;
  for (int64_t turn = 1; turn < 5; ++turn) {
    const Answer answer = Ask(engine, chat, 11);
    EXPECT_EQ(answer.cached, computed) << turn;
    ExpectSame(answer, Fresh(chat, 11), "turn " + std::to_string(turn));
    chat = chat + answer.tokens;
    computed = std::ssize(chat) - 1;
    chat = chat + Text(3 * turn, turn);
  }
}

// Behind a place there is at least the token whose logits are wanted.
TEST_P(StateCacheTest, ATailOfOneOrNoneOrLess) {
  Engine engine = Make();
  const Tokens prompt = Text(70);
  const Tokens whole = prompt + Ask(engine, prompt, 8).tokens;  // 77 tokens are computed
  const auto first = [&](int64_t count) { return Tokens(whole.begin(), whole.begin() + count); };
  EXPECT_EQ(Ask(engine, first(77) + Tokens{5}, 1).cached, 77);
  EXPECT_EQ(Ask(engine, first(77), 1).cached, 69) << "before the last token of the prompt";
  EXPECT_EQ(Ask(engine, first(77) + Tokens{5}, 1).cached, 77);
  for (const int64_t length : {77, 78, 76, 71, 70, 64, 65, 33, 32}) {
    ExpectSame(Ask(engine, first(length)), Fresh(first(length)), std::to_string(length));
  }
}

// The tokens behind where they part stand in the tree twice, each with K and V of its own.
TEST_P(StateCacheTest, RequestsPartAndMeet) {
  Engine engine = Make();
  const Tokens trunk = Text(45);
  const std::vector<Tokens> prompts = {trunk + Text(20, 1),
                                       trunk + Text(20, 2),
                                       trunk,
                                       trunk + Text(3, 1),
                                       trunk + Text(20, 1),
                                       Text(33),
                                       trunk + Text(60, 1),
                                       trunk + Text(61, 2),
                                       Text(46),
                                       trunk + Text(20, 2),
                                       Text(32),
                                       Text(31),
                                       trunk + Text(20, 1) + Text(20, 2)};
  for (const Tokens& prompt : prompts) {
    ExpectSame(Ask(engine, prompt, 6), Fresh(prompt, 6), std::to_string(prompt.size()));
  }
}

// A snapshot stands before the last token of a prompt.
TEST_P(StateCacheTest, TheSamePromptAgainNeedsOneRow) {
  Engine engine = Make();
  const Answer first = Ask(engine, Text(100), 1);
  const Answer again = Ask(engine, Text(100), 1);
  EXPECT_EQ(again.cached, 99);
  ExpectSame(again, first, "again");
  // The first that leaves the run somewhere computes it all, and leaves a snapshot there.
  EXPECT_EQ(Ask(engine, Text(70) + Text(9, 1), 1).cached, 0);
  const Answer parted = Ask(engine, Text(70) + Text(40, 2), 5);
  EXPECT_EQ(parted.cached, 70);
  ExpectSame(parted, Fresh(Text(70) + Text(40, 2), 5), "parted");
}

// The second one that begins like the first goes on where the first was told that others will.
TEST_P(StateCacheTest, WhereTheClientSaysOthersGoOn) {
  const Tokens trunk = Text(70);
  Request request = MakeRequest(trunk + Text(40, 1), 5);
  request.places = {1, 33, 34, 70, 71, 109};
  Engine engine = Make();
  const auto marked = engine.Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(marked.ok()) << marked.status().message();
  EXPECT_EQ(marked->tokens, Fresh(request.prompt, 5).tokens);
  const Tokens prompt = trunk + Text(40, 2);
  const Answer other = Ask(engine, prompt, 5);
  EXPECT_EQ(other.cached, 70);
  ExpectSame(other, Fresh(prompt, 5), "behind a mark");
}

// Those that come together compute their common beginning once: others wait for the first, which
// leaves a snapshot where they part.
TEST_P(StateCacheTest, ThoseThatComeTogetherShare) {
  Engine engine = Make({.threads = 1, .kv_positions = 1024, .max_running = 4});
  const Engine::OnToken go_on = [](const TokenEvent&) { return true; };
  std::vector<std::shared_ptr<engine::CompletionSink>> sinks;
  const Tokens trunk = Text(120);
  for (int64_t i = 0; i < 4; ++i) {
    const Request request = MakeRequest(trunk + Text(20, i), 6);
    sinks.push_back(std::make_shared<engine::CompletionSink>(request, go_on));
    ASSERT_TRUE(engine.Submit(request, sinks.back()).ok());
  }
  int64_t cached = 0;
  for (int64_t i = 0; i < 4; ++i) {
    const auto done = sinks[static_cast<size_t>(i)]->Wait();
    ASSERT_TRUE(done.ok()) << done.status().message();
    EXPECT_EQ(done->tokens, Fresh(trunk + Text(20, i), 6).tokens) << i;
    cached += done->cached_tokens;
  }
  EXPECT_GE(cached, 2 * 120) << "at least those that came while the first was computed";
}

// Three that do not fit beside each other: they are preempted and go on, while a turn of another
// chat comes between.
TEST_P(StateCacheTest, PreemptedAndResumed) {
  Engine engine = Make({.max_chunk = 16, .threads = 1, .kv_positions = 256, .max_running = 4});
  // The engine stands at the first token until all have come: on a busy machine each would else be
  // over before the next one was submitted, and none would be preempted.
  std::latch all_submitted(1);
  const Engine::OnToken go_on = [&](const TokenEvent&) {
    all_submitted.wait();
    return true;
  };
  int taken = 0;
  std::vector<std::shared_ptr<engine::CompletionSink>> sinks;
  for (int64_t i = 0; i < 5; ++i) {
    const Request request = MakeRequest(Text(40 + i) + Text(10, i), 60);
    sinks.push_back(std::make_shared<engine::CompletionSink>(request, go_on));
    taken += engine.Submit(request, sinks.back()).ok() ? 1 : 0;
  }
  all_submitted.count_down();
  ASSERT_EQ(taken, 5);
  for (int64_t i = 0; i < 5; ++i) {
    const auto done = sinks[static_cast<size_t>(i)]->Wait();
    ASSERT_TRUE(done.ok()) << done.status().message();
    EXPECT_EQ(done->tokens, Fresh(Text(40 + i) + Text(10, i), 60).tokens) << i;
  }
  EXPECT_GT(engine.Stats().preemptions, 0);
}

TEST_P(StateCacheTest, NamespacesShareNothing) {
  Engine engine = Make();
  Ask(engine, Text(40), 4);
  Request other = MakeRequest(Text(60), 4);
  other.cache_namespace = 9;
  const auto done = engine.Generate(other, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(engine.Stats().prompt_tokens_cached, 0);
  EXPECT_EQ(done->tokens, Fresh(Text(60), 4).tokens);
}

// Turns of an agent: the first tokens of each answer (thoughts) are left out of the next prompt,
// every fifth message is edited at its end, every seventh has a question beside. Each computes its
// new tokens, and what lies between them and a place; and answers as a fresh engine.
TEST_P(StateCacheTest, FortyTurnsOfAnAgent) {
  constexpr int64_t kThoughts = 5;
  Engine engine = Make({.context = 2048, .threads = 1, .kv_positions = 8192, .max_running = 2});
  Engine fresh = Make({.context = 2048, .threads = 1, .kv_positions = 2048, .max_running = 1});
  Tokens chat = Text(200);
  int64_t known = 0;  // leading tokens that a request before has begun with
  const auto ask = [&](const Tokens& prompt, int64_t common, const std::string& what) {
    Answer answer = Ask(engine, prompt, 12);
    // Places nearer than 64 tokens to the one before are left out.
    EXPECT_GE(answer.cached, common - 64 - 20) << what;
    return answer;
  };
  for (int64_t turn = 0; turn < 40; ++turn) {
    const std::string what = "turn " + std::to_string(turn);
    const Tokens prompt = chat + Text(10 + turn % 7, 100 + turn);
    Tokens sent = prompt;
    Answer answer = ask(prompt, known, what);
    if (turn % 7 == 3) ask(prompt + Text(9, turn), std::ssize(prompt), what + ", beside");
    if (turn % 5 == 4) {
      const int64_t kept = std::ssize(prompt) - 5;
      sent = Tokens(prompt.begin(), prompt.begin() + kept) + Text(6, 900 + turn);
      answer = ask(sent, kept, what + ", edited");
    }
    Request alone = MakeRequest(sent, 12);
    alone.cache_namespace = static_cast<uint64_t>(turn);  // nobody else's
    const auto expected = fresh.Generate(alone, [](const TokenEvent&) { return true; });
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    EXPECT_EQ(expected->cached_tokens, 0);
    EXPECT_EQ(answer.tokens, expected->tokens) << what;
    known = std::ssize(sent);
    chat = sent + Tokens(answer.tokens.begin() + kThoughts, answer.tokens.end());
  }
}

// A state that is left at the end of one engine is where the next one goes on.
TEST_P(StateCacheTest, ARestartGoesOnFromWhatIsOnDisk) {
  const disk::TestFolder folder;
  const Tokens prompt = Text(70);
  Tokens whole = prompt;
  {
    Engine engine = Make(Behind(folder));
    whole = whole + Ask(engine, prompt, 8).tokens;
  }
  {
    Engine engine = Make(Behind(folder));
    const Tokens next = whole + Text(9, 5);
    const Answer answer = Ask(engine, next);
    EXPECT_EQ(answer.cached, 77);
    EXPECT_EQ(engine.Stats().prompt_tokens_disk, 77);
    ExpectSame(answer, Fresh(next), "behind the answer");
  }
  Engine engine = Make(Behind(folder));
  const Answer again = Ask(engine, prompt);
  EXPECT_EQ(again.cached, 69) << "before the last token of the prompt";
  ExpectSame(again, Fresh(prompt), "the prompt again");
  EXPECT_EQ(Ask(engine, Text(70, 3)).cached, 0) << "another text";
}

// Without memory for snapshots each one goes to the folder when the next text comes. The engine
// that reads it has computed nothing yet: who knows how fast he computes does not wait for a disk
// that is slower.
TEST_P(StateCacheTest, WhatMemoryHasNoSlotForComesBack) {
  const disk::TestFolder folder;
  Tokens whole = Text(70);
  {
    Engine engine = Make(Behind(folder, 0));
    whole = whole + Ask(engine, Text(70), 8).tokens;
    Ask(engine, Text(90, 3));
  }
  Engine engine = Make(Behind(folder, 0));
  const Answer again = Ask(engine, whole + Text(4, 2));
  EXPECT_EQ(again.cached, 77);
  EXPECT_EQ(engine.Stats().prompt_tokens_disk, 77);
  ExpectSame(again, Fresh(whole + Text(4, 2)), "from the folder");
}

// A state of two ranks lies in both, one part behind the other.
TEST_P(StateCacheTest, RanksBringTheirPartsBack) {
  const Answer expected = Fresh(Text(70));
  Load(2);
  const disk::TestFolder folder;
  {
    Engine engine = Make(Behind(folder));
    ExpectSame(Ask(engine, Text(70)), expected, "two ranks");
  }
  Engine engine = Make(Behind(folder));
  const Answer again = Ask(engine, Text(70));
  EXPECT_EQ(again.cached, 69);
  ExpectSame(again, expected, "two ranks, from the folder");
}

INSTANTIATE_TEST_SUITE_P(Models, StateCacheTest, testing::Values("lfm2", "qwen35"));

class FamilyStateCacheTest : public StateCacheTest {
 protected:
  std::string Path() const override {
    return support::SharedData("golden/families/" + GetParam() + ".gguf");
  }
};
using StateCacheSharedData = FamilyStateCacheTest;

// All of the above for each family, in one go: loading takes most of it.
TEST_P(StateCacheSharedData, GoesOnAsFromTheBeginning) {
  Engine engine = Make({.max_chunk = 24, .threads = 1, .max_running = 2});
  const Tokens prompt = Text(45);
  const Tokens whole = prompt + Ask(engine, prompt, 20).tokens;  // 64 tokens are computed
  const auto first = [&](int64_t count) { return Tokens(whole.begin(), whole.begin() + count); };
  EXPECT_EQ(Ask(engine, whole, 3).cached, 64);
  for (const Tokens& each : {whole + Text(7, 1), first(64), first(63) + Text(9, 2), first(45),
                             first(40) + Text(30, 3), whole + Text(8, 1)}) {
    ExpectSame(Ask(engine, each, 5), Fresh(each, 5), std::to_string(each.size()));
  }
  // And the next engine, from the folder of one that is gone.
  const disk::TestFolder folder;
  { Ask(*std::make_unique<Engine>(Make(Behind(folder))), prompt, 20); }
  Engine next = Make(Behind(folder));
  const Answer again = Ask(next, whole, 3);
  EXPECT_EQ(again.cached, 64);
  ExpectSame(again, Fresh(whole, 3), "from the folder");
}

INSTANTIATE_TEST_SUITE_P(Families, StateCacheSharedData,
                         testing::Values("lfm2", "lfm2moe", "qwen35", "qwen35moe", "qwen3next",
                                         "granitehybrid", "granitehybrid-dense", "mamba2",
                                         "nemotron_h", "nemotron_h_moe", "falcon-h1",
                                         "kimi-linear"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace skald
