#include "skald/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "kernels/isa/isa.h"
#include "skald/model.h"

namespace skald {
namespace {

// The bundled model, loaded once for all tests of this file.
class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static Engine Make(const EngineOptions& options = {}) {
    Result<Engine> engine = Engine::Create(*model_, options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }
  static Request MakeRequest(int64_t max_tokens) {
    Request request{.prompt = *model_->tokenizer().Encode("Once upon a time")};
    request.stop.max_tokens = max_tokens;
    request.stop.ignore_eos = true;
    return request;
  }
  static bool Continue(const TokenEvent&) { return true; }

  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> EngineTest::model_;

void ExpectError(const Status& status, ErrorCode code, std::string_view part) {
  EXPECT_EQ(ErrorCodeName(status.code()), ErrorCodeName(code));
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST_F(EngineTest, GeneratesTheTokensAskedForAndReportsEach) {
  Engine engine = Make();
  std::vector<TokenId> seen;
  const auto done = engine.Generate(MakeRequest(20), [&](const TokenEvent& event) {
    EXPECT_EQ(event.index, static_cast<int64_t>(seen.size()));
    EXPECT_FALSE(event.logprob.has_value());
    seen.push_back(event.token);
    return true;
  });
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->tokens.size(), 20u);
  EXPECT_EQ(done->tokens, seen);
  EXPECT_EQ(FinishReasonName(done->reason), "length");
  EXPECT_EQ(done->prompt_tokens, static_cast<int64_t>(MakeRequest(1).prompt.size()));
}

// Bytes of this process that are memory, and not of a file.
int64_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::stoll(line.substr(8)) * 1024;
  }
  ADD_FAILURE() << "no RssAnon in /proc/self/status";
  return 0;
}

// Of pages that nobody has had: a step would wait for it.
TEST_F(EngineTest, TakesTheMemoryOfPagesWhileItIdles) {
  const int64_t before = ResidentBytes();
  Engine engine = Make({.kv_positions = 1 << 16});
  const int64_t pages = engine.memory().kv;
  ASSERT_GT(pages, 64 << 20);
  const int64_t wanted = std::min<int64_t>(pages, 256 << 20) * 9 / 10;
  for (int tries = 0; tries < 2000 && ResidentBytes() - before < wanted; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(ResidentBytes() - before, wanted);
}

TEST_F(EngineTest, NoTokensAskedForComputesThePromptOnly) {
  Engine engine = Make();
  const auto done = engine.Generate(MakeRequest(0), Continue);
  ASSERT_TRUE(done.ok());
  EXPECT_TRUE(done->tokens.empty());
  EXPECT_EQ(FinishReasonName(done->reason), "length");
}

TEST_F(EngineTest, SameSeedSameTokensWhateverTheChunksThreadsAndKernels) {
  Engine plain = Make({.max_chunk = 1, .threads = 1, .isa = "scalar"});
  Request request = MakeRequest(40);
  request.sampling.seed = 11;
  const auto expected = plain.Generate(request, Continue);
  ASSERT_TRUE(expected.ok());
  for (const char* isa : {"scalar", "best"}) {
    for (const int threads : {1, 2, 3}) {
      Engine engine = Make({.max_chunk = 2 + threads, .threads = threads, .isa = isa});
      const auto done = engine.Generate(request, Continue);
      ASSERT_TRUE(done.ok());
      EXPECT_EQ(done->tokens, expected->tokens) << engine.isa_name() << " " << threads;
    }
  }
  request.sampling.seed = 12;
  const auto other = plain.Generate(request, Continue);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->tokens, expected->tokens);
}

TEST_F(EngineTest, ARequestLeavesNothingBehindForTheNext) {
  Engine engine = Make({.context = 64});
  const auto first = engine.Generate(MakeRequest(30), Continue);
  ASSERT_TRUE(first.ok());
  Request other = MakeRequest(50);
  other.sampling.seed = 5;
  ASSERT_TRUE(engine.Generate(other, Continue).ok());
  const auto again = engine.Generate(MakeRequest(30), Continue);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->tokens, first->tokens);
}

TEST_F(EngineTest, StopsWhenTheContextIsFull) {
  Engine engine = Make({.context = 16});
  const auto done = engine.Generate(MakeRequest(-1), Continue);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(FinishReasonName(done->reason), "context");
  // Position 16 has no room, but the token that would stand there is still known.
  EXPECT_EQ(done->prompt_tokens + static_cast<int64_t>(done->tokens.size()), 17);
}

TEST_F(EngineTest, StopsAtAStopToken) {
  Engine engine = Make();
  Request request = MakeRequest(30);
  const auto free = engine.Generate(request, Continue);
  ASSERT_TRUE(free.ok());
  request.stop.stop_tokens = {free->tokens[7]};
  const auto done = engine.Generate(request, Continue);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(FinishReasonName(done->reason), "stop");
  EXPECT_EQ(done->tokens.back(), free->tokens[7]);
  EXPECT_LE(done->tokens.size(), 8u);
}

TEST_F(EngineTest, EndOfTextEndsTheTextUnlessIgnored) {
  Engine engine = Make({.context = 512});
  Request request = MakeRequest(-1);
  const TokenId eos = model_->tokenizer().eos_id();
  request.sampling.logit_bias = {{eos, 1e6f}};
  const auto done = engine.Generate(request, Continue);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(FinishReasonName(done->reason), "context");
  request.stop.ignore_eos = false;
  const auto stopped = engine.Generate(request, Continue);
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(FinishReasonName(stopped->reason), "stop");
  EXPECT_EQ(stopped->tokens, std::vector<TokenId>{eos});
}

TEST_F(EngineTest, TheCallbackCancelsBetweenTokens) {
  Engine engine = Make();
  const auto done =
      engine.Generate(MakeRequest(100), [](const TokenEvent& event) { return event.index < 4; });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(FinishReasonName(done->reason), "cancelled");
  EXPECT_EQ(done->tokens.size(), 5u);
}

TEST_F(EngineTest, TheCallbackCancelsBetweenChunksOfThePrompt) {
  Engine engine = Make({.max_chunk = 1});
  int calls = 0;
  const auto done = engine.Generate(MakeRequest(100), [&](const TokenEvent& event) {
    EXPECT_EQ(event.token, kNoToken);
    return ++calls < 2;
  });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(FinishReasonName(done->reason), "cancelled");
  EXPECT_TRUE(done->tokens.empty());
  EXPECT_EQ(calls, 2);
}

TEST_F(EngineTest, LogprobsComeWhenAskedFor) {
  Engine engine = Make();
  Request request = MakeRequest(5);
  request.sampling.top_logprobs = 0;
  const auto done = engine.Generate(request, [](const TokenEvent& event) {
    EXPECT_TRUE(event.logprob.has_value());
    EXPECT_LE(event.logprob.value_or(1), 0);
    return true;
  });
  ASSERT_TRUE(done.ok());
}

TEST_F(EngineTest, PromptsThatCannotBeComputedAreRefusedWithTheNumbers) {
  Engine engine = Make({.context = 8});
  Request request = MakeRequest(1);
  request.prompt.clear();
  ExpectError(engine.Generate(request, Continue).status(), ErrorCode::kInvalidArgument, "empty");
  request.prompt.assign(9, 300);
  ExpectError(engine.Generate(request, Continue).status(), ErrorCode::kResourceExhausted,
              "9 tokens, the context has room for 8");
  for (const TokenId token : {TokenId{-1}, static_cast<TokenId>(model_->info().vocab_size),
                              std::numeric_limits<TokenId>::max()}) {
    request.prompt = {token};
    ExpectError(engine.Generate(request, Continue).status(), ErrorCode::kInvalidArgument,
                "token " + std::to_string(token) + " is not in the vocabulary");
  }
  request.prompt.assign(8, 300);
  EXPECT_TRUE(engine.Generate(request, Continue).ok());
}

TEST_F(EngineTest, SamplingParametersAreChecked) {
  Engine engine = Make();
  Request request = MakeRequest(1);
  request.sampling.temperature = -1;
  EXPECT_EQ(engine.Generate(request, Continue).status().code(), ErrorCode::kInvalidArgument);
}

TEST_F(EngineTest, SizesOutsideTheirRangeAreRefused) {
  for (const EngineOptions& options :
       {EngineOptions{.context = -1}, EngineOptions{.context = int64_t{1} << 40},
        EngineOptions{.max_chunk = 0}, EngineOptions{.max_chunk = 1 << 20},
        EngineOptions{.threads = -1}, EngineOptions{.threads = 513}}) {
    EXPECT_EQ(Engine::Create(*model_, options).status().code(), ErrorCode::kInvalidArgument);
  }
}

TEST_F(EngineTest, AnInstructionSetTheCpuLacksIsRefused) {
  for (const InstructionSet& set : InstructionSets()) {
    const Result<Engine> engine = Engine::Create(*model_, {.isa = std::string(set.name)});
    ASSERT_EQ(engine.ok(), set.supported) << set.name;
    if (set.supported) {
      EXPECT_EQ(engine->isa_name(), set.name);
      continue;
    }
    const std::string& message = engine.status().message();
    EXPECT_EQ(engine.status().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(message.find("does not have " + std::string(set.name)), std::string::npos) << message;
    EXPECT_NE(message.find("it has scalar"), std::string::npos) << message;
  }
}

TEST_F(EngineTest, AnUnknownInstructionSetIsAnErrorThatNamesThoseThereAre) {
  for (const char* name : {"", "sse", "AVX2", "avx2 "}) {
    const Status status = Engine::Create(*model_, {.isa = name}).status();
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    std::string expected =
        "instruction set '" + std::string(name) + "' does not exist, expected best";
    for (const InstructionSet& set : InstructionSets()) expected += ", " + std::string(set.name);
    EXPECT_EQ(status.message(), expected);
  }
}

TEST_F(EngineTest, BanningEveryTokenIsAnErrorOfThatRequestOnly) {
  Engine engine = Make();
  Request request = MakeRequest(1);
  for (TokenId token = 0; token < model_->info().vocab_size; ++token) {
    request.sampling.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
  }
  EXPECT_FALSE(engine.Generate(request, Continue).ok());
  EXPECT_TRUE(engine.Generate(MakeRequest(1), Continue).ok());
}

}  // namespace
}  // namespace skald
