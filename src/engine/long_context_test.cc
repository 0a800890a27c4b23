// A context beyond the trained one: what the bundled model, trained with 512 positions, still
// expects of tales that it has told itself, one after the other.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"

namespace skald {
namespace {

constexpr int64_t kPositions = 2048;

Model Load(const RopeOverride& rope, const Endless& endless = {}) {
  Result<Model> model =
      LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf",
                 .rope = rope,
                 .endless = endless});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

// Tales of up to 200 tokens each, told within the trained context.
std::vector<TokenId> Tales() {
  const Model model = Load({});
  Result<Engine> engine = Engine::Create(model, {.threads = 1});
  std::vector<TokenId> text;
  for (uint64_t seed = 1; text.size() < kPositions; ++seed) {
    Request request{.prompt = *model.tokenizer().Encode("Once upon a time")};
    request.stop.max_tokens = 200;
    request.sampling.seed = seed;
    request.sampling.temperature = 0.7;
    text.insert(text.end(), request.prompt.begin(), request.prompt.end());
    const auto tale = engine->Generate(request, [](const TokenEvent&) { return true; });
    text.insert(text.end(), tale->tokens.begin(), tale->tokens.end() - 1);  // without its end
  }
  text.resize(kPositions);
  return text;
}

double Loss(std::span<const float> row, TokenId next) {
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit));
  return std::log(sum) - static_cast<double>(row[static_cast<size_t>(next)]);
}

// Mean losses of the positions [0, 512), [512, 1024), ...
std::vector<double> Losses(const std::vector<TokenId>& text, const RopeOverride& rope,
                           const Endless& endless = {}) {
  const Model model = Load(rope, endless);
  Result<LogitsSession> session =
      LogitsSession::Create(model, {.context = kPositions, .max_chunk = 128, .threads = 1});
  EXPECT_TRUE(session.ok()) << session.status().message();
  std::vector<double> losses(kPositions / 512);
  size_t position = 0;
  const Status status = session->Compute(text, {}, [&](std::span<const float> row) {
    if (position + 1 < text.size()) losses[position / 512] += Loss(row, text[position + 1]) / 512;
    ++position;
    return Ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return losses;
}

TEST(LongContext, IsReadWithStretchedPositionsAndNotWithout) {
  const std::vector<TokenId> text = Tales();
  const std::vector<double> plain = Losses(text, {});
  EXPECT_LT(plain[0], 1);
  for (const size_t part : {1, 2, 3}) EXPECT_GT(plain[part], 3) << part;
  // Twice the context hardly costs anything; four times costs, and is read to its end.
  const std::vector<double> twice = Losses(text, {.stretch = RopeStretch::kYarn, .factor = 2});
  for (const size_t part : {0, 1}) EXPECT_LT(twice[part], 1) << part;
  EXPECT_GT(twice[3], 3);
  const std::vector<double> four = Losses(text, {.stretch = RopeStretch::kYarn, .factor = 4});
  for (const size_t part : {0, 1, 2, 3}) EXPECT_LT(four[part], 2) << part;
  const std::vector<double> ntk = Losses(text, {.stretch = RopeStretch::kNtk, .factor = 8});
  for (const size_t part : {0, 1}) EXPECT_LT(ntk[part], 2) << part;
  // An endless text costs hardly more later than at its beginning.
  const std::vector<double> endless = Losses(text, {}, {.sinks = 4, .window = 508});
  EXPECT_EQ(endless[0], plain[0]);
  for (const size_t part : {1, 2, 3}) EXPECT_LT(endless[part], 1.25 * plain[0]) << part;
}

// The memory is that of the window, however long the text; and a text that has been told can be
// gone on from.
TEST(LongContext, EndlessTextsTakeTheMemoryOfTheirWindow) {
  const Model model = Load({}, {.sinks = 4, .window = 200});
  const EngineOptions options = {.context = 8192, .threads = 1, .max_running = 1};
  const Result<EnginePlan> plan = Engine::Plan(model, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Result<EnginePlan> whole = Engine::Plan(Load({}), options);
  EXPECT_LT(plan->memory.kv, whole->memory.kv / 4);
  EngineOptions longer = options;
  longer.context = 1 << 20;
  EXPECT_LT(Engine::Plan(model, longer)->memory.kv, plan->memory.kv * 3 / 2);
  Result<Engine> engine = Engine::Create(model, options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Request request{.prompt = *model.tokenizer().Encode("Once upon a time")};
  request.stop = {.max_tokens = 4000, .ignore_eos = true};
  const auto tale = engine->Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(tale.ok()) << tale.status().message();
  ASSERT_EQ(tale->tokens.size(), 4000u);
  request.prompt.insert(request.prompt.end(), tale->tokens.begin(), tale->tokens.end());
  request.stop.max_tokens = 10;
  const auto more = engine->Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(more.ok()) << more.status().message();
  EXPECT_EQ(more->cached_tokens, std::ssize(request.prompt) - 1);
}

TEST(LongContext, IsTheModelsOwnThen) {
  EXPECT_EQ(Load({}).info().context_length, 512);
  EXPECT_EQ(Load({.factor = 4}).info().context_length, 2048);
  const Result<Model> model = LoadModel(
      {.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf", .rope = {.factor = -4}});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace skald
