#include "skald/model_shape.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "skald/bench.h"
#include "skald/model.h"
#include "skald/plan.h"

namespace skald {
namespace {

namespace fs = std::filesystem;

// A folder of its own for a test, gone at the end.
class TestFolder {
 public:
  TestFolder() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(testing::TempDir()) /
            (std::string("skald_plan_") + test.name() + "_" + std::to_string(getpid()));
    fs::create_directories(path_);
  }
  ~TestFolder() { fs::remove_all(path_); }
  std::string Config(const std::string& text) const {
    std::ofstream(path_ / "config.json") << text;
    return (path_ / "config.json").string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::vector<std::string> GoldenModels() {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(SKALD_GOLDEN_MODELS)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path().string());
  }
  return paths;
}

// What is on paper of a file is what an engine makes of it: bytes and work, of every family.
TEST(ReadModelShape, SaysOfAFileWhatTheLoadedModelIs) {
  const std::vector<std::string> paths = GoldenModels();
  ASSERT_GT(paths.size(), 20u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Result<Model> model = LoadModel({.path = path, .threads = 1});
    const Result<ModelShape> shape = ReadModelShape(path);
    ASSERT_TRUE(model.ok() && shape.ok()) << shape.status().message();
    const ShapeInfo& info = shape->info();
    EXPECT_EQ(info.weight_bytes, model->info().weight_bytes);
    EXPECT_EQ(info.parameters, model->info().parameter_count);
    EXPECT_EQ(info.vocab, model->info().vocab_size);
    EXPECT_EQ(info.context, model->info().context_length);
    EXPECT_EQ(info.state_bytes, model->info().state_bytes);
    EXPECT_LE(info.active_parameters, info.parameters);
    EXPECT_GT(info.active_parameters, 0);
    const EngineOptions options = {.max_chunk = 16, .threads = 1, .max_running = 3};
    const Result<Engine> engine = Engine::Create(*model, options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    EXPECT_EQ(PlanEngine(*shape, options)->memory, engine->memory());
    if (!info.generates) continue;
    const Result<BenchSession> session =
        BenchSession::Create(*model, options, {.batch = 3, .positions = 64});
    ASSERT_TRUE(session.ok()) << session.status().message();
    for (const BenchCase& wanted : {BenchCase{.prompt_tokens = 40, .depth = 9},
                                    BenchCase{.decode_tokens = 2, .batch = 3, .depth = 50}}) {
      const BenchWork work = session->WorkOf(wanted);
      const Forecast forecast = *ForecastOf(*shape, options, *NamedMachine("h100"), wanted);
      EXPECT_EQ(forecast.work.int8_macs, work.int8_macs);
      EXPECT_EQ(forecast.work.bfloat16_macs, work.bfloat16_macs);
      EXPECT_EQ(forecast.work.float_macs, work.float_macs);
      EXPECT_EQ(forecast.work.bytes, work.bytes);
    }
  }
}

TEST(ReadModelShape, GroupsAddUpToAPosition) {
  for (const std::string& path : GoldenModels()) {
    SCOPED_TRACE(path);
    const Result<ModelShape> shape = ReadModelShape(path);
    ASSERT_TRUE(shape.ok()) << shape.status().message();
    int64_t bytes = 0;
    for (const KvGroup& group : shape->KvGroups(KvCacheType::kF16)) bytes += group.position_bytes;
    EXPECT_EQ(bytes, DescribeModel(path)->kv_bytes_per_token_f16);
  }
}

// The counts that the publishers state, without the few biases that a family may lack.
TEST(NamedModelShape, HasThePublishedNumberOfParameters) {
  const auto parameters = [](std::string_view name) {
    return NamedModelShape(name)->info().parameters;
  };
  EXPECT_EQ(parameters("llama-2-7b"), 6'738'415'616);
  EXPECT_EQ(parameters("llama-2-70b"), 68'976'648'192);
  EXPECT_EQ(parameters("llama-3-8b"), 8'030'261'248);
  EXPECT_EQ(parameters("llama-3-70b"), 70'553'706'496);
  EXPECT_EQ(parameters("mistral-7b"), 7'241'732'096);
  EXPECT_EQ(parameters("qwen3-30b-a3b"), 30'532'122'624);
  EXPECT_NEAR(static_cast<double>(parameters("gpt-oss-20b")), 20.91e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(parameters("gpt-oss-120b")), 116.83e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(parameters("gpt2")), 124.4e6, 0.2e6);
  EXPECT_NEAR(static_cast<double>(parameters("qwen3.6-35b-a3b")), 35e9, 0.5e9);
}

TEST(NamedModelShape, CountsWhatATokenIsMultipliedWith) {
  const auto active = [](std::string_view name) {
    return static_cast<double>(NamedModelShape(name)->info().active_parameters);
  };
  // 3.61 B in the model card of gpt-oss-20b, 5.13 B of gpt-oss-120b: the head counts, the embedding
  // does not.
  EXPECT_NEAR(active("gpt-oss-20b"), 3.61e9, 0.01e9);
  EXPECT_NEAR(active("gpt-oss-120b"), 5.13e9, 0.01e9);
  const ShapeInfo llama = NamedModelShape("llama-2-7b")->info();
  const int64_t norms = 65 * 4096;
  EXPECT_EQ(llama.active_parameters, llama.parameters - llama.vocab * llama.width - norms);
}

// The published checkpoint has 13.76 GB: experts of 4 bits, the rest in BF16.
TEST(NamedModelShape, ExpertsHaveTheTypeTheyWerePublishedIn) {
  const ShapeInfo info = NamedModelShape("gpt-oss-20b")->info();
  ASSERT_EQ(info.weights.size(), 3u);
  EXPECT_EQ(info.weights[0].type, "MXFP4");
  EXPECT_EQ(info.weights[0].tensors, 24 * 3);
  EXPECT_EQ(info.weights[1].type, "BF16");
  int64_t bytes = 0;
  for (const WeightType& weights : info.weights) bytes += weights.file_bytes;
  EXPECT_NEAR(static_cast<double>(bytes), 13.76e9, 0.05e9);
}

TEST(NamedModelShape, AllNamesHaveAShape) {
  for (const NamedShape& named : NamedShapes()) {
    for (const std::string_view weights : WeightChoices()) {
      const Result<ModelShape> shape =
          NamedModelShape(named.name, {.weights = std::string(weights)});
      ASSERT_TRUE(shape.ok()) << named.name << ": " << shape.status().message();
      EXPECT_GT(shape->info().weight_bytes, 0);
      EXPECT_TRUE(PlanEngine(*shape, {.threads = 1}).ok());
    }
  }
}

TEST(NamedModelShape, UnknownNamesAreErrorsThatListThem) {
  const Result<ModelShape> shape = NamedModelShape("llama-9");
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.status().code(), ErrorCode::kNotFound);
  EXPECT_NE(shape.status().message().find("'llama-9', expected one of gpt-oss-120b, "),
            std::string::npos)
      << shape.status().message();
  const Result<ModelShape> weights = NamedModelShape("gpt2", {.weights = "Q9"});
  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(weights.status().message().find("expected one of F32, F16, BF16, Q8_0"),
            std::string::npos)
      << weights.status().message();
}

// The members that decide sizes, of Llama 3 8B.
constexpr std::string_view kLlama3 = R"("model_type": "llama", "hidden_size": 4096,
  "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "max_position_embeddings": 8192, "rms_norm_eps": 1e-05,
  "rope_theta": 500000.0, "vocab_size": 128256, "torch_dtype": "bfloat16")";

TEST(ReadModelShape, AConfigAloneIsEnough) {
  const TestFolder folder;
  const std::string path = folder.Config("{" + std::string(kLlama3) + "}");
  const Result<ModelShape> named = NamedModelShape("llama-3-8b");
  for (const std::string& given : {path, folder.path()}) {
    const Result<ModelShape> shape = ReadModelShape(given);
    ASSERT_TRUE(shape.ok()) << shape.status().message();
    EXPECT_EQ(shape->info().parameters, named->info().parameters);
    EXPECT_EQ(shape->info().weight_bytes, named->info().weight_bytes);
    EXPECT_EQ(PlanEngine(*shape, {.threads = 1})->memory,
              PlanEngine(*named, {.threads = 1})->memory);
  }
}

TEST(ReadModelShape, AConfigSaysWhetherTheHeadIsTheEmbedding) {
  const TestFolder folder;
  const ShapeInfo apart = ReadModelShape(folder.Config("{" + std::string(kLlama3) + "}"))->info();
  const ShapeInfo tied = ReadModelShape(folder.Config("{" + std::string(kLlama3) +
                                                      R"(, "tie_word_embeddings": true})"))
                             ->info();
  EXPECT_EQ(apart.parameters - tied.parameters, int64_t{128256} * 4096);
  EXPECT_EQ(apart.active_parameters, tied.active_parameters);
}

TEST(ReadModelShape, AConfigSaysWhatItsExpertsAreStoredIn) {
  const TestFolder folder;
  const std::string mixture =
      R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
          "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8,
          "head_dim": 64, "num_local_experts": 32, "num_experts_per_tok": 4,
          "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "sliding_window": 128,
          "vocab_size": 201088)";
  const auto weight_bytes = [&](const std::string& more) {
    return ReadModelShape(folder.Config(mixture + more + "}"))->info().weight_bytes;
  };
  EXPECT_EQ(weight_bytes(R"(, "quantization_config": {"quant_method": "mxfp4"})"),
            NamedModelShape("gpt-oss-20b")->info().weight_bytes);
  EXPECT_EQ(weight_bytes(""),
            NamedModelShape("gpt-oss-20b", {.weights = "BF16"})->info().weight_bytes);
  EXPECT_EQ(weight_bytes(R"(, "quantization_config": {"quant_method": "fp8"})"), weight_bytes(""));
}

// Six layers, of which the last sees all, with heads of 32 instead of 16 elements.
TEST(ReadModelShape, AConfigSaysWhichLayersTakeKeysForValues) {
  const TestFolder folder;
  const std::string gemma4 =
      R"({"model_type": "gemma4_text", "hidden_size": 64, "intermediate_size": 96,
          "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 16, "global_head_dim": 32, "hidden_size_per_layer_input": 0,
          "sliding_window": 8, "max_position_embeddings": 64, "rms_norm_eps": 1e-06,
          "vocab_size": 100)";
  const ShapeInfo apart = ReadModelShape(folder.Config(gemma4 + "}"))->info();
  const ShapeInfo taken =
      ReadModelShape(folder.Config(gemma4 + R"(, "attention_k_eq_v": true})"))->info();
  EXPECT_EQ(apart.parameters - taken.parameters, 64 * 2 * 32);
  // Queries and outputs, keys and values of two heads, three matrices of the feed-forward; tied.
  const int64_t near = 2 * 64 * 4 * 16 + 2 * 64 * 2 * 16 + 3 * 64 * 96;
  const int64_t far = 2 * 64 * 4 * 32 + 2 * 64 * 2 * 32 + 3 * 64 * 96;
  EXPECT_EQ(apart.active_parameters, 5 * near + far + 64 * 100);
}

struct HostileConfig {
  std::string_view from;
  std::string_view to;
  std::string_view message;
};

TEST(ReadModelShape, HostileConfigsAreErrorsBeforeTheyCost) {
  const TestFolder folder;
  for (const HostileConfig& hostile : std::vector<HostileConfig>{
           {R"("vocab_size": 128256)", R"("vocab_size": 99999999999999)", "vocab"},
           {R"("vocab_size": 128256)", R"("vocab_size": -1)", "vocab"},
           {R"("vocab_size": 128256)", R"("vocab": 1)", "'vocab_size' is missing"},
           {R"("num_hidden_layers": 32)", R"("num_hidden_layers": 2000000000)", "layers"},
           {R"("hidden_size": 4096)", R"("hidden_size": 1099511627776)", "head_dim"},
           {R"("hidden_size": 4096)", R"("hidden_size": 67108864, "head_dim": 64)", "length"},
           {R"("num_attention_heads": 32)", R"("num_attention_heads": 0)", "at least 1"},
           {R"("num_key_value_heads": 8)", R"("num_key_value_heads": 0)", ""},
           {R"("torch_dtype": "bfloat16")", R"("torch_dtype": "int3")",
            "'int3', expected bfloat16"},
           {R"("model_type": "llama")", R"("model_type": "mixtral", "num_local_experts": 1000000000,
             "num_experts_per_tok": 2)",
            "expert count"},
           {R"("model_type": "llama")", R"("model_type": "mixtral", "num_local_experts": 8,
             "num_experts_per_tok": 9)",
            ""},
           {R"("model_type": "llama")", R"("model_type": "nope")", "'nope'"},
           {R"("torch_dtype": "bfloat16")", R"("quantization_config": {"quant_method": "aqlm"})",
            "'aqlm', expected fp8 or mxfp4"},
       }) {
    std::string text = "{" + std::string(kLlama3) + "}";
    const size_t place = text.find(hostile.from);
    ASSERT_NE(place, std::string::npos) << hostile.from;
    text.replace(place, hostile.from.size(), hostile.to);
    const Result<ModelShape> shape = ReadModelShape(folder.Config(text));
    ASSERT_FALSE(shape.ok()) << hostile.to;
    EXPECT_NE(shape.status().message().find(hostile.message), std::string::npos)
        << hostile.to << ": " << shape.status().message();
  }
  for (const char* text : {"", "[]", "{", "null", R"({"model_type": 3})"}) {
    EXPECT_FALSE(ReadModelShape(folder.Config(text)).ok()) << text;
  }
}

// 512 layers of 1,024 experts are possible numbers, and half a million matrices a layer kind.
TEST(ReadModelShape, MoreMatricesThanAnyModelHasAreRefused) {
  const TestFolder folder;
  const Result<ModelShape> shape = ReadModelShape(folder.Config(
      R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 64,
          "num_hidden_layers": 512, "num_attention_heads": 4, "num_local_experts": 1024,
          "num_experts_per_tok": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-05,
          "vocab_size": 64})"));
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.status().code(), ErrorCode::kUnsupported);
  EXPECT_NE(shape.status().message().find("expected at most 1048576"), std::string::npos)
      << shape.status().message();
}

}  // namespace
}  // namespace skald
