// Behind the last layer a lens reads what the engine drew from, bit for bit.

#include "explain/lens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/options.h"
#include "model/step_log.h"
#include "model/transformer.h"
#include "support/shared_data.h"

namespace skald::explain {
namespace {

const std::vector<TokenId> kPrompt = {3, 1, 4, 1, 5};

struct Watched {
  std::vector<model::LoggedStep> steps;
  std::vector<std::vector<float>> logits;
};

Watched Watch(const Model& model) {
  const auto log = std::make_shared<model::StepLog>(model::TapWishes{.depth = true});
  Engine engine = *Engine::Create(model, {.threads = 1, .step_log = log});
  Watched watched;
  Request request = {.prompt = kPrompt, .stop = {.max_tokens = 2}};
  request.logit_tap = [&](int32_t, int64_t, std::span<const float> row) {
    watched.logits.emplace_back(row.begin(), row.end());
  };
  EXPECT_TRUE(engine.Generate(request, [](const TokenEvent&) { return true; }).ok());
  watched.steps = log->Take();
  return watched;
}

void ExpectTheEnginesLogits(const std::string& path, int ranks = 1) {
  SCOPED_TRACE(path);
  const Model model = *LoadModel({.path = path, .threads = 1, .ranks = ranks});
  const Watched watched = Watch(model);
  ASSERT_EQ(watched.steps.size(), 2u);
  const engine::ResolvedOptions options =
      *engine::Resolve({.threads = 1}, model.transformer().network());
  const auto runner = *engine::MakeRunner(model, options);
  for (size_t i = 0; i < watched.steps.size(); ++i) {
    const auto& depth = watched.steps[i].tapped.depth;
    ASSERT_EQ(std::ssize(depth), model.info().layer_count);
    EXPECT_EQ(depth.back().position, i == 0 ? 4 : 5);
    runner->TurnDepthToLogits(depth.back().stream);
    const std::span<const float> logits = runner->Logits(0);
    EXPECT_TRUE(std::ranges::equal(logits, watched.logits[i])) << "step " << i;
    // Another layer gives something else.
    runner->TurnDepthToLogits(depth.front().stream);
    EXPECT_FALSE(std::ranges::equal(runner->Logits(0), watched.logits[i])) << "step " << i;
  }
}

std::string Golden(const std::string& name) {
  return std::string(SKALD_GOLDEN_MODELS) + "/" + name + ".gguf";
}

TEST(Lens, ReadsBehindTheLastLayerWhatIsDrawnFrom) {
  for (const char* name : {"llama", "deepseek2", "lfm2", "moe", "qwen35"}) {
    ExpectTheEnginesLogits(Golden(name));
  }
  ExpectTheEnginesLogits(Golden("llama"), 2);
}

// Several residual streams; norms of sums; parallel blocks; inputs of layers with factors.
TEST(LensSharedData, ReadsBehindTheLastLayerWhatIsDrawnFrom) {
  for (const char* name : {"gemma3n", "gemma4-e", "command-r", "granite", "falcon-h1"}) {
    ExpectTheEnginesLogits(support::SharedData("golden/families/") + name + ".gguf");
  }
}

TEST(Lens, SaysTheBestTokenAndHowLikelyTheDrawnWas) {
  const Model model = *LoadModel({.path = Golden("llama"), .threads = 1});
  const Watched watched = Watch(model);
  Lens lens = *Lens::Create(model, *engine::Resolve({}, model.transformer().network()));
  const auto& logits = watched.logits.front();
  const auto best = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  const TokenId other = best == 0 ? 1 : 0;
  const auto read = lens.Read(watched.steps.front().tapped.depth, other);
  ASSERT_EQ(std::ssize(read), model.info().layer_count);
  EXPECT_EQ(read.front().layer, 0);
  EXPECT_EQ(read.back().best, best);
  EXPECT_EQ(read.back().text, model.tokenizer().TokenBytes(best));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - double{logits[best]});
  EXPECT_NEAR(read.back().probability, 1 / sum, 1e-12);
  EXPECT_NEAR(read.back().drawn_probability,
              std::exp(double{logits[other]} - double{logits[best]}) / sum, 1e-12);
}

// More rows than go through the head together.
TEST(Lens, ReadsAnyNumberOfRows) {
  const Model model = *LoadModel({.path = Golden("llama"), .threads = 1});
  const model::DepthRow row = Watch(model).steps.front().tapped.depth.back();
  Lens lens = *Lens::Create(model, *engine::Resolve({}, model.transformer().network()));
  const auto read = lens.Read(std::vector<model::DepthRow>(33, row), 0);
  ASSERT_EQ(read.size(), 33u);
  EXPECT_EQ(read.back().probability, read.front().probability);
}

}  // namespace
}  // namespace skald::explain
