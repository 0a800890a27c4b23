// Promise 1 in a program that rounds in another direction and flushes subnormals to zero, as sound
// and graphics libraries do: model, logits and text are the same bits.

#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace skald {
namespace {

// The mode of the thread at hand, until the test ends.
void RoundDownAndFlush() {
  std::fesetround(FE_DOWNWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ, DAZ
#endif
}

class RoundingMode : public testing::Test {
 protected:
  ~RoundingMode() override { std::fesetenv(FE_DFL_ENV); }

  static Model Load() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    EXPECT_TRUE(model.ok()) << model.status().message();
    return *std::move(model);
  }

  static EngineOptions Options(int threads) { return {.max_chunk = 64, .threads = threads}; }

  // Logits of a prompt, in chunks of 9 tokens.
  static std::vector<float> LogitsOf(const Model& model, int threads,
                                     const std::vector<TokenId>& prompt) {
    std::vector<float> all;
    const std::vector<int64_t> chunks = {9};
    Result<LogitsSession> session = LogitsSession::Create(model, Options(threads));
    EXPECT_TRUE(session.ok()) << session.status().message();
    const Status status = session->Compute(prompt, chunks, [&](std::span<const float> row) {
      all.insert(all.end(), row.begin(), row.end());
      return Ok();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return all;
  }

  static Request Sampled(const std::vector<TokenId>& prompt) {
    Request request{.prompt = prompt};
    request.sampling.temperature = 1.3;
    request.sampling.truncation.top_p = 0.9;
    request.sampling.penalties.repetition = 1.1;
    request.sampling.seed = 3;
    request.stop.max_tokens = 24;
    request.stop.ignore_eos = true;
    return request;
  }
};

void ExpectSameBits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)), 0);
}

TEST_F(RoundingMode, OfTheCallerChangesNoBit) {
  std::vector<TokenId> prompt;
  std::vector<float> logits;
  std::vector<TokenId> text;
  {
    const Model model = Load();
    prompt = *model.tokenizer().Encode("Once upon a time there was a fox who could not sleep.");
    Result<Engine> engine = Engine::Create(model, Options(2));
    ASSERT_TRUE(engine.ok());
    logits = LogitsOf(model, 2, prompt);
    text = engine->Generate(Sampled(prompt), [](const TokenEvent&) { return true; })->tokens;
  }
  ASSERT_FALSE(logits.empty());
  ASSERT_EQ(text.size(), 24u);
  RoundDownAndFlush();
  for (const int threads : {1, 3}) {
    const Model model = Load();
    Result<Engine> engine = Engine::Create(model, Options(threads));
    ASSERT_TRUE(engine.ok());
    ExpectSameBits(LogitsOf(model, threads, prompt), logits);
    const auto done = engine->Generate(Sampled(prompt), [](const TokenEvent&) { return true; });
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->tokens, text);
  }
}

// A callback runs between two steps.
TEST_F(RoundingMode, OfACallbackChangesNoBit) {
  const Model model = Load();
  const std::vector<TokenId> prompt = *model.tokenizer().Encode("The fox");
  const std::vector<float> expected = LogitsOf(model, 1, prompt);
  Result<LogitsSession> session = LogitsSession::Create(model, Options(1));
  ASSERT_TRUE(session.ok());
  std::vector<float> logits;
  const std::vector<int64_t> chunks = {1};
  const Status status = session->Compute(prompt, chunks, [&](std::span<const float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
    RoundDownAndFlush();
    return Ok();
  });
  ASSERT_TRUE(status.ok());
  ExpectSameBits(logits, expected);
  // That of an engine runs on its thread.
  Result<Engine> engine = Engine::Create(model, Options(1));
  ASSERT_TRUE(engine.ok());
  const auto ignore = [](const TokenEvent&) { return true; };
  const auto text = engine->Generate(Sampled(prompt), ignore)->tokens;
  const auto done = engine->Generate(Sampled(prompt), [](const TokenEvent&) {
    RoundDownAndFlush();
    return true;
  });
  EXPECT_EQ(done->tokens, text);
}

}  // namespace
}  // namespace skald
