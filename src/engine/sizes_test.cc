#include "engine/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "support/shared_data.h"

namespace skald {
namespace {

namespace fs = std::filesystem;

// Options that move every size.
std::vector<EngineOptions> Several() {
  return {{.threads = 1},
          {.context = 100, .max_chunk = 17, .threads = 2},
          {.context = 256, .threads = 1, .kv_types = KvCacheType::kF32},
          {.threads = 1, .kv_positions = 5000, .max_running = 40},
          {.max_chunk = 64, .threads = 1, .kv_positions = 40000, .max_running = 2},
          {.threads = 1, .state_memory = 0, .speculation = {.kind = Speculation::kNgram}}};
}

void ExpectPlansAsMade(const std::string& path) {
  SCOPED_TRACE(path);
  const Result<Model> model = LoadModel({.path = path, .threads = 1});
  // There are recordings of families that do not run yet.
  if (!model.ok() && model.status().code() == ErrorCode::kUnsupported) return;
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (EngineOptions options : Several()) {
    options.context = std::min(options.context, model->info().context_length);
    const Result<EnginePlan> plan = Engine::Plan(*model, options);
    const Result<Engine> engine = Engine::Create(*model, options);
    ASSERT_EQ(plan.ok(), engine.ok());
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->memory, engine->memory());
    EXPECT_EQ(plan->context, engine->context());
    EXPECT_EQ(plan->threads, engine->threads());
    EXPECT_EQ(plan->isa_name, engine->isa_name());
    EXPECT_EQ(plan->max_running, engine->max_running());
    EXPECT_EQ(plan->max_queued, engine->max_queued());
    EXPECT_GT(plan->memory.weights, 0);
    EXPECT_GT(plan->memory.activations, 0);
  }
}

void ExpectPlansAsMadeIn(const fs::path& folder) {
  int models = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    ExpectPlansAsMade(entry.path().string());
    ++models;
  }
  EXPECT_GT(models, 10);
}

TEST(EnginePlan, IsWhatTheEngineTakesOfTheBundledModel) {
  ExpectPlansAsMade(std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf");
}

TEST(EnginePlan, IsWhatTheEngineTakesOfEachFamily) { ExpectPlansAsMadeIn(SKALD_GOLDEN_MODELS); }

TEST(EnginePlanSharedData, IsWhatTheEngineTakes) {
  ExpectPlansAsMadeIn(support::SharedData("golden/families"));
}

TEST(EnginePlan, RefusesWhatCreateRefuses) {
  const Result<Model> model =
      LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
  for (const EngineOptions& options :
       {EngineOptions{.context = -1}, EngineOptions{.isa = "none"}, EngineOptions{.threads = -1}}) {
    const Result<EnginePlan> plan = Engine::Plan(*model, options);
    const Result<Engine> engine = Engine::Create(*model, options);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().message(), engine.status().message());
  }
}

TEST(EnginePlan, MoreThanAnAddressSpaceIsAnError) {
  model::Network network = {.vocab = 16, .width = 16, .context = 64};
  const engine::Sizes sizes = {
      .layout = {.types = {kernels::KvType::kF32, kernels::KvType::kF32},
                 .layers = std::vector<kv::KvShape>(
                     512, {.kv_heads = 1024, .key_dim = 1024, .value_dim = 1024})},
      .pages = {.full = int64_t{1} << 40}};
  const Result<EngineMemory> memory = engine::MemoryOf(network, sizes);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(memory.status().message(), "the KV cache would be larger than the address space");
}

// Five layers of six with a window of 1,024, as Gemma 3 has them, and a context of 131,072: what
// one window takes for each sequence, the rows of a step, and one page in sixteen for places.
TEST(EnginePlan, LayersWithWindowsTakeFewPages) {
  model::Network network = {.vocab = 16, .width = 16, .context = 131072};
  network.layers.resize(12);
  for (size_t i = 0; i < network.layers.size(); ++i) {
    network.layers[i].mixer = model::Gqa{.heads = 1, .kv_heads = 1, .key_dim = 16, .value_dim = 16};
    if (i % 6 != 5) std::get<model::Gqa>(network.layers[i].mixer).window = 1024;
  }
  const auto resolved =
      engine::Resolve({.context = 131072, .threads = 1, .max_running = 1}, network);
  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  const engine::Sizes sizes = engine::SizesOf(network, *resolved);
  EXPECT_EQ(sizes.pages.full, 4097);
  // The window with 8 rows of forced text behind it, two to turn, the rows of a step, one in
  // sixteen.
  EXPECT_EQ(sizes.pages.window, 34 + 2 + 17 + 256);
  const int64_t everything = sizes.layout.page_bytes() * sizes.pages.full;
  const Result<EngineMemory> memory = engine::MemoryOf(network, sizes);
  ASSERT_TRUE(memory.ok());
  EXPECT_LT(memory->kv, everything / 4);
  // Where all windows together are no less than everything, all keep everything.
  const auto crowd =
      engine::Resolve({.context = 131072, .threads = 1, .max_running = 120}, network);
  EXPECT_EQ(engine::SizesOf(network, *crowd).pages.window, 4097);
}

}  // namespace
}  // namespace skald
