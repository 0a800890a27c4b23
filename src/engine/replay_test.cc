#include "skald/replay.h"

#include <gtest/gtest.h>

#include "skald/engine.h"

namespace skald {
namespace {

struct Generated {
  std::vector<TokenId> tokens;
  std::vector<TokenDraw> draws;
};

class ReplayTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = std::make_unique<Model>(*LoadModel(
        {.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf", .threads = 1}));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static EngineOptions Options() { return {.context = 128, .max_chunk = 8, .threads = 1}; }
  static Engine Make() { return *Engine::Create(*model_, Options()); }
  static Request MakeRequest(SamplingParams sampling = {.seed = 3}) {
    return {.prompt = *model_->tokenizer().Encode("The fox and the lantern went to the sea"),
            .sampling = std::move(sampling),
            .stop = {.max_tokens = 14, .ignore_eos = true}};
  }
  // One token a step, as a client gets them.
  static Generated Generate(Engine& engine, const Request& request) {
    Generated generated;
    const auto done = engine.Generate(request, [&](const TokenEvent& event) {
      if (event.token != kNoToken) generated.draws.push_back(event.draw);
      return true;
    });
    generated.tokens = done->tokens;
    return generated;
  }
  static Generated Again(const Request& request, const std::vector<TokenId>& output) {
    Generated replayed;
    const Status status = Replay(*model_, Options(), {.request = request, .output = output},
                                 [&](const ReplayedToken& token) {
                                   EXPECT_EQ(token.index, std::ssize(replayed.tokens));
                                   replayed.tokens.push_back(token.token);
                                   replayed.draws.push_back(token.draw);
                                   return Ok();
                                 });
    EXPECT_TRUE(status.ok()) << status.message();
    return replayed;
  }

  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> ReplayTest::model_;

// Every path of the sampler, and what of the history it reads.
TEST_F(ReplayTest, DrawsWhatWasDrawnWithTheSameNumbers) {
  const std::vector<SamplingParams> all = {
      {.seed = 3},
      {.temperature = 0},
      {.temperature = 1.3, .truncation = {.top_k = 0, .top_p = 0.9, .min_p = 0}, .seed = 4},
      {.truncation = {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 0.8}, .seed = 5},
      {.penalties = {.repetition = 1.2, .presence = 0.5, .frequency = 0.25, .last_n = 6},
       .mirostat = {.version = 2, .tau = 3},
       .seed = 6,
       .order = SamplingOrder::kLlamaCpp,
       .logit_bias = {{.token = 11, .bias = 2}}},
      {.temperature = 1.2,
       .truncation = {.top_n_sigma = 2, .xtc_probability = 0.5, .xtc_threshold = 0.05},
       .dry = {.multiplier = 2, .base = 1.5, .allowed_length = 1, .breakers = {12, 13}},
       .dynamic_temperature = {.range = 0.5, .exponent = 1.5},
       .seed = 7}};
  Engine engine = Make();
  for (const SamplingParams& sampling : all) {
    Request request = MakeRequest(sampling);
    request.stop.min_tokens = 3;
    const Generated generated = Generate(engine, request);
    ASSERT_EQ(generated.tokens.size(), 14u);
    const Generated replayed = Again(request, generated.tokens);
    EXPECT_EQ(replayed.tokens, generated.tokens) << sampling.seed;
    EXPECT_EQ(replayed.draws, generated.draws) << sampling.seed;
  }
}

TEST_F(ReplayTest, SaysWhatWouldHaveComeInPlaceOfAnotherToken) {
  Engine engine = Make();
  const Request request = MakeRequest();
  const Generated generated = Generate(engine, request);
  std::vector<TokenId> changed = generated.tokens;
  changed[4] = changed[4] == 20 ? 21 : 20;
  const Generated replayed = Again(request, changed);
  const auto first_five = [](const auto& all) { return std::vector(all.begin(), all.begin() + 5); };
  EXPECT_EQ(first_five(replayed.tokens), first_five(generated.tokens));
  EXPECT_EQ(first_five(replayed.draws), first_five(generated.draws));
  EXPECT_NE(replayed.draws, generated.draws);
}

TEST_F(ReplayTest, HasTheNumbersOfEachSequence) {
  Engine engine = Make();
  Request request = MakeRequest();
  request.n = 2;
  const auto done = engine.Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_NE(done->tokens, done->others[0].tokens);
  std::vector<TokenId> drawn;
  const Status status = Replay(
      *model_, Options(), {.request = request, .sequence = 1, .output = done->others[0].tokens},
      [&](const ReplayedToken& token) {
        drawn.push_back(token.token);
        return Ok();
      });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(drawn, done->others[0].tokens);
}

TEST_F(ReplayTest, EndsAtTheFirstError) {
  const Request request = MakeRequest();
  const std::vector<TokenId> output = {1, 2, 3};
  int calls = 0;
  const Status status =
      Replay(*model_, Options(), {.request = request, .output = output}, [&](const ReplayedToken&) {
        ++calls;
        return Status(ErrorCode::kCancelled, "enough");
      });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(calls, 1);
}

TEST_F(ReplayTest, TellsTokensThatEndTheText) {
  Request request = MakeRequest();
  request.stop = {.stop_tokens = {9}};
  const std::vector<TokenId> output = {8, 9, 8};
  std::vector<bool> ends;
  ASSERT_TRUE(Replay(*model_, Options(), {.request = request, .output = output},
                     [&](const ReplayedToken& token) {
                       ends.push_back(token.is_end);
                       return Ok();
                     })
                  .ok());
  EXPECT_EQ(ends, (std::vector{false, true, false}));
}

TEST_F(ReplayTest, RefusesWhatItCannotDrawAgain) {
  const auto replay = [&](const Request& request, int32_t sequence, std::vector<TokenId> output) {
    return Replay(*model_, Options(), {.request = request, .sequence = sequence, .output = output},
                  [](const ReplayedToken&) { return Ok(); })
        .message();
  };
  const Request plain = MakeRequest();
  EXPECT_EQ(replay(plain, 0, {}), "the answer is empty: there is nothing to draw");
  EXPECT_EQ(replay(plain, 128, {1}), "the sequence is 128, expected 0 to 127");
  EXPECT_EQ(replay(plain, 0, {1, -5, 1}),
            "token -5 is not in the vocabulary of " + std::to_string(model_->info().vocab_size));
  EXPECT_NE(replay(plain, 0, std::vector<TokenId>(200, 1)).find("the context has room for 128"),
            std::string::npos);
  Request beams = plain;
  beams.beam_search.beams = 2;
  EXPECT_EQ(replay(beams, 0, {1}),
            "an answer with beams cannot be drawn again from its tokens alone");
  Request embedding = plain;
  embedding.pooling = Pooling::kLast;
  EXPECT_EQ(replay(embedding, 0, {1}),
            "an answer with an embedding cannot be drawn again from its tokens alone");
}

}  // namespace
}  // namespace skald
