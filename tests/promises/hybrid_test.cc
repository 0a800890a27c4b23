// Models with layers that carry a state: what the engine must not do with them. Their bits under
// any schedule are a matter of same_answer_test and schedule_test.

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"
#include "support/soon.h"

namespace skald {
namespace {

class HybridTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Result<Model> model = LoadModel({.path = SKALD_GOLDEN_MODELS "/" + GetParam() + ".gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_.emplace(*std::move(model));
  }

  Engine Make(const EngineOptions& options = {.max_running = 4}) const {
    Result<Engine> engine = Engine::Create(*model_, options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }

  // Tokens first .. first + count - 1 of one long text.
  static Request MakeRequest(int64_t count, int64_t max_tokens = 12) {
    Request request;
    for (int64_t i = 0; i < count; ++i) {
      request.prompt.push_back(static_cast<TokenId>(3 + i * i * 7 % 90));
    }
    request.sampling.temperature = 0;
    request.stop = {.max_tokens = max_tokens, .ignore_eos = true};
    return request;
  }

  static std::vector<TokenId> TokensOf(Engine& engine, const Request& request) {
    const auto done = engine.Generate(request, [](const TokenEvent&) { return true; });
    EXPECT_TRUE(done.ok()) << done.status().message();
    return done.ok() ? done->tokens : std::vector<TokenId>();
  }

  // Who hears the end of a request hears it before the step is counted.
  static EngineStats IdleStats(Engine& engine) {
    EXPECT_TRUE(Soon([&] { return engine.Stats().requests_running == 0; }));
    return engine.Stats();
  }

  std::optional<Model> model_;
};
INSTANTIATE_TEST_SUITE_P(Models, HybridTest, testing::Values("lfm2", "qwen35"));

// The prefix of a prompt that came before has K and V, but a state only at its end: whoever went on
// from elsewhere would go on from the state of something else.
TEST_P(HybridTest, NeverGoesOnFromAPrefixWithoutItsState) {
  Engine engine = Make();
  for (const int64_t count : {100, 100, 64, 65, 131, 33, 100, 1}) {
    Engine fresh = Make();
    const Request request = MakeRequest(count);
    EXPECT_EQ(TokensOf(engine, request), TokensOf(fresh, request)) << count;
  }
  EXPECT_EQ(IdleStats(engine).pages_held, 0);
}

TEST_P(HybridTest, SiblingsGoOnFromCopiesOfOneState) {
  Request request = MakeRequest(50, 20);
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  request.n = 3;
  Engine together = Make();
  const auto done = together.Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(done.ok()) << done.status().message();
  Engine narrow = Make({.kv_positions = 128, .max_running = 3});  // some are preempted
  const auto again = narrow.Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(done->tokens, again->tokens);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(done->others[i].tokens, again->others[i].tokens);
    EXPECT_NE(done->others[i].tokens, done->tokens);
  }
  // Who takes the likeliest tokens says what its siblings say, if they go on from the same.
  Request greedy = MakeRequest(50, 20);
  greedy.n = 3;
  const auto same = together.Generate(greedy, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(same.ok()) << same.status().message();
  ASSERT_EQ(same->others.size(), 2u);
  for (const auto& other : same->others) EXPECT_EQ(other.tokens, same->tokens);
  // The first is that of the request alone.
  request.n = 1;
  Engine alone = Make();
  EXPECT_EQ(TokensOf(alone, request), done->tokens);
}

TEST_P(HybridTest, GuessesNothing) {
  Engine plain = Make();
  Engine engine = Make({.max_running = 4, .speculation = {.kind = Speculation::kNgram}});
  const Request request = MakeRequest(90, 40);
  EXPECT_EQ(TokensOf(engine, request), TokensOf(plain, request));
  EXPECT_EQ(engine.Stats().draft_tokens, 0);
}

TEST_P(HybridTest, IsNoDraftModel) {
  Result<Model> target = LoadModel({.path = SKALD_GOLDEN_MODELS "/llama.gguf"});
  ASSERT_TRUE(target.ok());
  const auto engine =
      Engine::Create(*target, {.speculation = {.kind = Speculation::kDraft, .draft = *model_}});
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find("carry a state"), std::string::npos)
      << engine.status().message();
}

TEST_P(HybridTest, HasNoBeamSearch) {
  Engine engine = Make();
  Request request = MakeRequest(10);
  request.beam_search.beams = 2;
  const auto done = engine.Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(ErrorCodeName(done.status().code()), ErrorCodeName(ErrorCode::kUnsupported));
}

TEST_P(HybridTest, EmbedsAndComputesLogits) {
  Engine engine = Make({.max_chunk = 7, .max_running = 1});
  Request request = MakeRequest(40, 0);
  request.pooling = Pooling::kMean;
  const auto embedding = engine.Embed(request);
  ASSERT_TRUE(embedding.ok()) << embedding.status().message();
  EXPECT_EQ(engine.Embed(request)->values, embedding->values);
  Result<LogitsSession> session = LogitsSession::Create(*model_, {.max_chunk = 7});
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto rows = [&](const std::vector<int64_t>& chunks) {
    std::vector<float> all;
    const Status status = session->Compute(request.prompt, chunks, [&](std::span<const float> row) {
      all.insert(all.end(), row.begin(), row.end());
      return Ok();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return all;
  };
  const std::vector<float> one_by_one = rows({1});
  for (const int64_t chunk : {2, 3, 5, 7}) EXPECT_EQ(rows({chunk}), one_by_one) << chunk;
}

TEST_P(HybridTest, SaysWhatItsStatesTake) {
  ASSERT_GT(model_->info().state_bytes, 0);
  const int64_t state = model_->info().state_bytes;
  const auto take = [&](int64_t memory) {
    return Make({.state_memory = memory, .max_running = 4}).state_bytes();
  };
  EXPECT_EQ(take(0), 4 * state);
  EXPECT_EQ(take(3 * state - 1), 6 * state);
  EXPECT_EQ(take(3 * state), 7 * state);
  Engine engine = Make({.max_running = 4});
  EXPECT_EQ(engine.state_bytes(),
            (4 + std::max<int64_t>(4, engine.kv_bytes() / 2 / state)) * state);
  const EngineStats stats = engine.Stats();
  EXPECT_EQ(stats.states_total * state, engine.state_bytes());
  EXPECT_EQ(stats.states_free, stats.states_total);
  TokensOf(engine, MakeRequest(100));
  // Idle: the step that ended the request is over, and counted.
  EXPECT_EQ(IdleStats(engine).states_cached, 2) << "before the prompt's last token, at the end";
  const auto wrong = Engine::Create(*model_, {.state_memory = -2});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.status().message(), "state memory is -2, expected -1 to 1125899906842624");
}

}  // namespace
}  // namespace skald
