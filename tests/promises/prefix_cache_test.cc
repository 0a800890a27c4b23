// Models whose layers keep K and V, of all positions, of a window with or without the first ones or
// as latents, go on from what
// was computed before: in memory, in the files of an engine that is gone, or given up by memory in
// between. The same tokens and probabilities as from the beginning, and no row computed twice that
// was kept. Models with states: state_cache_test.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "promises/cache_case.h"
#include "support/shared_data.h"

namespace skald {
namespace {

using namespace cache_case;

// Where layers have windows, these have a third of the pages of others.
EngineOptions Few() { return {.context = 1024, .max_chunk = 32, .threads = 1, .max_running = 1}; }

class PrefixCacheTest : public CacheTest {
 protected:
  Answer FromFolder(const disk::TestFolder& folder, const Tokens& prompt, int64_t on_disk) const {
    Engine engine = Make(WithFolder(folder, Few()));
    const Answer answer = Ask(engine, prompt);
    EXPECT_EQ(answer.cached, on_disk);
    EXPECT_EQ(engine.Stats().prompt_tokens_disk, on_disk);
    EXPECT_EQ(engine.Stats().prefill_rows, std::ssize(prompt) - on_disk);
    return answer;
  }
};

TEST_P(PrefixCacheTest, ATailOfOneOrNoneOrLess) {
  Engine engine = Make(Few());
  const Tokens prompt = Text(70);
  const Tokens whole = prompt + Ask(engine, prompt, 8).tokens;  // 77 tokens are computed
  EXPECT_EQ(Ask(engine, FirstOf(whole, 77) + Tokens{5}, 1).cached, 77);
  EXPECT_EQ(Ask(engine, FirstOf(whole, 77), 1).cached, 76);
  for (const int64_t length : {77, 78, 76, 71, 70, 65, 64, 33, 32, 31, 2}) {
    const Tokens each = FirstOf(whole, length);
    ExpectSame(Ask(engine, each), Fresh(each), std::to_string(length));
  }
}

TEST_P(PrefixCacheTest, APrefixEndsInsideAPage) {
  Engine engine = Make(Few());
  Ask(engine, Text(100), 1);
  for (const int64_t common : {99, 97, 96, 95, 81, 65}) {
    const Tokens prompt = FirstOf(Text(100), common) + Tokens{7, 8, 9};
    const Answer answer = Ask(engine, prompt);
    EXPECT_GE(answer.cached, common) << "a token more agrees at most";
    ExpectSame(answer, Fresh(prompt), std::to_string(common));
  }
}

TEST_P(PrefixCacheTest, RequestsPartAndMeet) {
  Engine engine = Make(Few());
  const Tokens trunk = Text(45);
  for (const Tokens& prompt :
       {trunk + Text(20, 1), trunk + Text(20, 2), trunk, trunk + Text(3, 1), trunk + Text(20, 1),
        Text(33), trunk + Text(60, 1), Text(46), trunk + Text(61, 2), trunk + Text(20, 2), Text(32),
        Text(31), trunk + Text(20, 1) + Text(20, 2)}) {
    ExpectSame(Ask(engine, prompt, 6), Fresh(prompt, 6), std::to_string(prompt.size()));
  }
}

// Whole pages: all that the next row sees is there.
TEST_P(PrefixCacheTest, ARestartGoesOnFromWhatIsOnDisk) {
  const disk::TestFolder folder;
  const Tokens prompt = Text(300);
  Tokens whole = prompt;
  {
    Engine engine = Make(WithFolder(folder, Few()));
    whole = whole + Ask(engine, prompt, 30).tokens;  // 329 tokens are computed
  }
  const Tokens next = whole + Text(9, 5);
  ExpectSame(FromFolder(folder, next, 320), Fresh(next), "behind the answer");
  ExpectSame(FromFolder(folder, prompt, 288), Fresh(prompt), "the prompt again");
  const Tokens other = Text(300, 3);
  ExpectSame(FromFolder(folder, other, 0), Fresh(other), "another text");
}

// The texts between push out the pages of the first, or their window pages alone, which then come
// from the folder. Not each time: what can be computed sooner than a busy disk gives is computed,
// and the disk is asked again one time in sixteen. With vectors these rows take microseconds, in
// which no machine that runs other tests meanwhile reads a file; hence scalar, and many rounds.
TEST_P(PrefixCacheTest, WhatMemoryGaveUpComesBack) {
  const disk::TestFolder folder;
  EngineOptions options = Few();
  options.isa = "scalar";
  Engine engine = Make(WithFolder(folder, options));
  const Answer first = Ask(engine, Text(300), 1);
  const auto keeps_asking = [&](int64_t others, int64_t tokens) {
    const int64_t before = engine.Stats().prompt_tokens_disk;
    for (int i = 0; i < 1000 && engine.Stats().prompt_tokens_disk == before; ++i) {
      for (int64_t other = 1; other <= others; ++other)
        Ask(engine, Text(tokens, other + 10 * i), 1);
      ExpectSame(Ask(engine, Text(300), 1), first, "again");
    }
    return engine.Stats().prompt_tokens_disk - before;
  };
  EXPECT_GT(keeps_asking(4, 280), 0) << "33 pages, of which the texts take 45";
  if (engine.Stats().window_pages_total > 0) {
    EXPECT_GT(keeps_asking(9, 40), 0) << "only window pages are short";
  }
}

TEST_P(PrefixCacheTest, RanksBringTheirPartsBack) {
  const Answer expected = Fresh(Text(100));
  Load(2);
  const disk::TestFolder folder;
  {
    Engine engine = Make(WithFolder(folder, Few()));
    ExpectSame(Ask(engine, Text(100)), expected, "two ranks");
  }
  ExpectSame(FromFolder(folder, Text(100), 96), expected, "two ranks, from the folder");
}

INSTANTIATE_TEST_SUITE_P(Models, PrefixCacheTest,
                         testing::Values("llama", "gemma3", "gpt-oss", "deepseek2",
                                         "llama, endless", "gpt-oss, endless"));

class FamilyPrefixCacheTest : public CacheTest {
 protected:
  std::string Path() const override {
    return support::SharedData("golden/" + GetParam() + ".gguf");
  }
};
using PrefixCacheSharedData = FamilyPrefixCacheTest;

// All of the above for each family, in one go: loading takes most of it.
TEST_P(PrefixCacheSharedData, GoesOnAsFromTheBeginning) {
  const disk::TestFolder folder;
  const Tokens prompt = Text(75);
  Tokens whole = prompt;
  {
    Engine engine = Make(WithFolder(folder, Few()));
    whole = prompt + Ask(engine, prompt, 30).tokens;  // 104 tokens are computed
    for (const Tokens& each :
         {FirstOf(whole, 104) + Text(7, 1), FirstOf(whole, 64), FirstOf(whole, 63) + Text(9, 2),
          FirstOf(whole, 75), FirstOf(whole, 40) + Text(30, 3), whole + Text(8, 1)}) {
      ExpectSame(Ask(engine, each, 5), Fresh(each, 5), std::to_string(each.size()));
    }
  }
  Engine engine = Make(WithFolder(folder, Few()));
  const Answer again = Ask(engine, whole, 5);
  EXPECT_EQ(again.cached, 96);
  EXPECT_EQ(engine.Stats().prefill_rows, std::ssize(whole) - 96);
  ExpectSame(again, Fresh(whole, 5), "from the folder");
}

INSTANTIATE_TEST_SUITE_P(Families, PrefixCacheSharedData,
                         testing::Values("gemma2", "gemma3", "families/gemma4-e",
                                         "families/gpt-oss", "families/mimo2", "families/cohere2",
                                         "families/olmo3", "families/llama4", "families/phi3-long",
                                         "families/deepseek3"),
                         [](const auto& instance) {
                           std::string name = instance.param.substr(instance.param.rfind('/') + 1);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace skald
