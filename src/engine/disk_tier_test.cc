// An engine before a folder: what one engine computed, the next one reads, with the same bits.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "disk/test_pages.h"
#include "skald/engine.h"
#include "skald/model.h"

namespace skald {
namespace {

constexpr int64_t kFolderBytes = int64_t{256} << 20;

class DiskTierTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }
  static void TearDownTestSuite() { model_.reset(); }

  // Of which `count` tokens are the same for all.
  static Request MakeRequest(int64_t count = 300, TokenId last = 5) {
    Request request;
    for (int64_t i = 0; i < count; ++i) {
      request.prompt.push_back(static_cast<TokenId>(10 + i * i % 91));
    }
    request.prompt.push_back(last);
    request.stop.max_tokens = 12;
    request.stop.ignore_eos = true;
    return request;
  }

  Result<Engine> Make(EngineOptions options = {}) const {
    auto folder = DiskCache::Open(folder_.path(), kFolderBytes);
    if (!folder.ok()) return folder.status();
    options.disk = *folder;
    return Engine::Create(*model_, options);
  }

  static bool Continue(const TokenEvent&) { return true; }

  struct Answer {
    Completion completion;
    EngineStats stats;
  };
  Answer Ask(const Request& request, const EngineOptions& options = {}) const {
    Result<Engine> engine = Make(options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    Result<Completion> completion = engine->Generate(request, Continue);
    EXPECT_TRUE(completion.ok()) << completion.status().message();
    return {.completion = *std::move(completion), .stats = engine->Stats()};
  }

  void FlipBytes() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.file_size() < 8192) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      for (uintmax_t at = 2048; at < entry.file_size(); at += 4096) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put('x');
      }
    }
  }

  disk::TestFolder folder_;
  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> DiskTierTest::model_;

TEST_F(DiskTierTest, ARestartBeginsWarmAndSaysTheSame) {
  const Answer first = Ask(MakeRequest());
  EXPECT_EQ(first.stats.prompt_tokens_disk, 0);
  const Answer second = Ask(MakeRequest());
  EXPECT_EQ(second.completion.tokens, first.completion.tokens);
  EXPECT_EQ(second.stats.prompt_tokens_disk, 288);  // nine pages of 301 tokens
  EXPECT_EQ(second.completion.cached_from.disk, 288);
  EXPECT_EQ(second.completion.cached_from.total(), second.completion.cached_tokens);
  EXPECT_EQ(second.stats.prefill_rows, 13);
  EXPECT_EQ(second.stats.disk_pages_restored, 9);
}

TEST_F(DiskTierTest, AnotherEndOfThePromptGoesOnFromWhatIsCommon) {
  Ask(MakeRequest(300, 5));
  const Answer other = Ask(MakeRequest(300, 6));
  EXPECT_EQ(other.stats.prompt_tokens_disk, 288);
  Result<Engine> alone = Engine::Create(*model_, {});
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(other.completion.tokens, alone->Generate(MakeRequest(300, 6), Continue)->tokens);
}

TEST_F(DiskTierTest, AnotherNamespaceFindsNothing) {
  Request request = MakeRequest();
  request.cache_namespace = 1;
  Ask(request);
  request.cache_namespace = 2;
  EXPECT_EQ(Ask(request).stats.prompt_tokens_disk, 0);
  request.cache_namespace = 1;
  EXPECT_EQ(Ask(request).stats.prompt_tokens_disk, 288);
}

TEST_F(DiskTierTest, WhatIsKeptInAnotherWayIsAnotherPage) {
  Ask(MakeRequest());
  const EngineOptions other = {.kv_types = KvCacheType::kF32};
  EXPECT_EQ(Ask(MakeRequest(), other).stats.prompt_tokens_disk, 0);
}

TEST_F(DiskTierTest, WhatWasAlteredIsComputed) {
  const Answer first = Ask(MakeRequest());
  FlipBytes();
  const Answer second = Ask(MakeRequest());
  EXPECT_EQ(second.completion.tokens, first.completion.tokens);
  EXPECT_EQ(second.stats.prompt_tokens_disk, 0);
  EXPECT_EQ(second.stats.prefill_rows, 301);
}

// Memory for one such prompt only: the second pushes out the first, which then comes back. Not each
// time: what can be computed sooner than a busy disk gives it is computed.
TEST_F(DiskTierTest, WhatMemoryIsShortOfComesBack) {
  const EngineOptions small = {.context = 352, .kv_positions = 352, .max_running = 1};
  Result<Engine> engine = Make(small);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Request other = MakeRequest();
  other.prompt.front() = 3;
  const auto first = engine->Generate(MakeRequest(), Continue);
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 100 && engine->Stats().prompt_tokens_disk == 0; ++i) {
    ASSERT_TRUE(engine->Generate(other, Continue).ok());
    const auto again = engine->Generate(MakeRequest(), Continue);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->tokens, first->tokens);
  }
  EXPECT_GE(engine->Stats().prompt_tokens_disk, 192);  // the rest was still in memory
}

TEST_F(DiskTierTest, AFolderServesOneEngine) {
  auto folder = DiskCache::Open(folder_.path(), kFolderBytes);
  ASSERT_TRUE(folder.ok());
  const EngineOptions options = {.disk = *folder};
  const Result<Engine> first = Engine::Create(*model_, options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  const Result<Engine> second = Engine::Create(*model_, options);
  EXPECT_EQ(second.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(DiskCache::Open(folder_.path(), kFolderBytes).status().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace skald
