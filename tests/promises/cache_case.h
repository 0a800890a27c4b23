/// CacheTest: a model whose prefixes are kept, and what the tests of that share: requests, answers
/// to the bit, an engine that has seen nothing else, and one behind a folder.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "disk/test_pages.h"
#include "skald/disk_cache.h"
#include "skald/engine.h"
#include "skald/model.h"

namespace skald::cache_case {

using Tokens = std::vector<TokenId>;

inline Tokens operator+(Tokens front, const Tokens& rear) {
  front.insert(front.end(), rear.begin(), rear.end());
  return front;
}

/// The first `count` tokens of a text.
inline Tokens FirstOf(const Tokens& text, int64_t count) {
  return Tokens(text.begin(), text.begin() + count);
}

/// A text of `count` tokens, another for each `seed`.
inline Tokens Text(int64_t count, int64_t seed = 0) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(3 + (i * i * 7 + seed * 13 + i * seed) % 90));
  }
  return tokens;
}

inline Request MakeRequest(Tokens prompt, int64_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling = {.temperature = 0, .top_logprobs = 0};
  request.stop = {.max_tokens = max_tokens, .ignore_eos = true};
  return request;
}

/// What a request has answered, to the bit, and how much of its prompt was cached.
struct Answer {
  Tokens tokens;
  std::vector<double> logprobs;
  int64_t cached = 0;
};

inline void ExpectSame(const Answer& found, const Answer& expected, const std::string& what) {
  EXPECT_EQ(found.tokens, expected.tokens) << what;
  EXPECT_EQ(found.logprobs, expected.logprobs) << what;
}

inline Answer Ask(Engine& engine, const Tokens& prompt, int64_t max_tokens = 12) {
  Answer answer;
  const auto done = engine.Generate(MakeRequest(prompt, max_tokens), [&](const TokenEvent& event) {
    if (event.logprob) answer.logprobs.push_back(*event.logprob);
    return true;
  });
  EXPECT_TRUE(done.ok()) << done.status().message();
  if (!done.ok()) return answer;
  answer.tokens = done->tokens;
  answer.cached = done->cached_tokens;
  return answer;
}

/// The same options with a folder behind the engine.
inline EngineOptions WithFolder(const disk::TestFolder& folder, EngineOptions options) {
  auto opened = DiskCache::Open(folder.path(), int64_t{256} << 20);
  EXPECT_TRUE(opened.ok());
  if (opened.ok()) options.disk = *std::move(opened);
  return options;
}

/// The parameter is the name of a golden model, with kEndless behind it if texts have no end.
inline constexpr std::string_view kEndless = ", endless";
class CacheTest : public testing::TestWithParam<std::string> {
 protected:
  bool is_endless() const { return GetParam().ends_with(kEndless); }
  virtual std::string Path() const {
    const size_t behind = is_endless() ? kEndless.size() : 0;
    return SKALD_GOLDEN_MODELS "/" + GetParam().substr(0, GetParam().size() - behind) + ".gguf";
  }

  void SetUp() override { Load(1); }
  void Load(int ranks) {
    const Endless endless = {.sinks = 3, .window = 40};
    Result<Model> model = LoadModel({.path = Path(),
                                     .threads = 1,
                                     .ranks = ranks,
                                     .endless = is_endless() ? endless : Endless()});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_.emplace(*std::move(model));
  }

  Engine Make(const EngineOptions& options = {
                  .context = 1024, .threads = 1, .max_running = 4}) const {
    Result<Engine> engine = Engine::Create(*model_, options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }

  /// What an engine says that has seen nothing else.
  Answer Fresh(const Tokens& prompt, int64_t max_tokens = 12) const {
    Engine engine = Make();
    return Ask(engine, prompt, max_tokens);
  }

  std::optional<Model> model_;
};

}  // namespace skald::cache_case
