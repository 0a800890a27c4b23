#include "server/ollama/ollama_request.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/ollama/ollama_embedding_request.h"
#include "server/ollama/ollama_embedding_writer.h"

namespace skald::server {
namespace {

namespace json = boost::json;

const std::string kChat = R"("messages":[{"role":"user","content":"Hi"}])";

template <typename Read>
auto Good(Read read, const std::string& members) {
  auto request = read(json::parse("{" + members + "}"));
  if (const auto* error = std::get_if<ApiError>(&request)) ADD_FAILURE() << error->message;
  return std::get<0>(std::move(request));
}
template <typename Read>
std::string Param(Read read, const std::string& members) {
  const auto request = read(json::parse("{" + members + "}"));
  const auto* error = std::get_if<ApiError>(&request);
  if (error == nullptr) return "nothing";
  EXPECT_EQ(error->status, 400);
  return error->param;
}
std::string ParamOfChat(const std::string& member) {
  return Param(ReadOllamaChat, kChat + "," + member);
}
std::string ParamOfGenerate(const std::string& member) {
  return Param(ReadOllamaGenerate, R"("prompt":"Hi",)" + member);
}

TEST(OllamaRequest, HasOllamasDefaults) {
  const GenerationRequest request = Good(ReadOllamaChat, kChat);
  EXPECT_EQ(request.style, AnswerStyle::kOllamaChat);
  EXPECT_TRUE(request.stream);
  const SamplingParams& sampling = request.request.sampling;
  EXPECT_EQ(sampling.temperature, 0.8);
  EXPECT_EQ(sampling.truncation.top_k, 40);
  EXPECT_EQ(sampling.truncation.top_p, 0.9);
  EXPECT_EQ(sampling.penalties.repetition, 1.1);
  EXPECT_EQ(sampling.penalties.last_n, 64);
  EXPECT_EQ(request.request.stop.max_tokens, -1);
  EXPECT_FALSE(request.has_seed);
}

TEST(OllamaRequest, MapsTheOptions) {
  const GenerationRequest request =
      Good(ReadOllamaChat,
           kChat + R"(,"model":"m:latest","stream":false,"keep_alive":"5m","options":{"seed":7,)"
                   R"("num_predict":9,"temperature":0,"top_k":3,"top_p":0.5,"min_p":0.1,)"
                   R"("repeat_penalty":1.2,"repeat_last_n":-1,"stop":["a"],"num_ctx":8192,)"
                   R"("mirostat":2,"mirostat_tau":3,"tfs_z":1,"num_thread":4,"new_one":1})");
  EXPECT_EQ(request.model, "m");
  EXPECT_FALSE(request.stream);
  const SamplingParams& sampling = request.request.sampling;
  EXPECT_TRUE(request.has_seed && sampling.seed == 7);
  EXPECT_EQ(request.request.stop.max_tokens, 9);
  EXPECT_EQ(sampling.temperature, 0);
  EXPECT_EQ(sampling.truncation.top_k, 3);
  EXPECT_EQ(sampling.truncation.min_p, 0.1);
  EXPECT_EQ(sampling.penalties.repetition, 1.2);
  EXPECT_EQ(sampling.penalties.last_n, -1);
  EXPECT_TRUE(sampling.mirostat.version == 2 && sampling.mirostat.tau == 3);
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"a"}));
  EXPECT_EQ(request.ignored, (std::vector<std::string>{"options.new_one"}));
  EXPECT_EQ(Good(ReadOllamaChat, kChat + R"(,"options":{"num_predict":-2,"seed":-1})")
                .request.stop.max_tokens,
            -1);
}

TEST(OllamaRequest, ReadsMessagesByOllamasNames) {
  const GenerationRequest request =
      Good(ReadOllamaChat,
           R"("think":"low","tools":[{"type":"function","function":{"name":"f"}}],"messages":[)"
           R"({"role":"user","content":"Hi","images":[]},{"role":"assistant","content":"",)"
           R"("thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},)"
           R"({"role":"tool","tool_name":"f","content":"2"}])");
  const json::array& messages = request.chat.at("messages").as_array();
  EXPECT_EQ(messages.at(1).at("reasoning_content"), "hm");
  EXPECT_EQ(messages.at(1).at("tool_calls").at(0).at("function").at("arguments").at("a"), 1);
  EXPECT_EQ(messages.at(2).at("name"), "f");
  EXPECT_EQ(request.tools.tools->size(), 1U);
  EXPECT_EQ(request.chat.at("enable_thinking"), true);
  EXPECT_EQ(request.chat.at("reasoning_effort"), "low");
  EXPECT_EQ(Good(ReadOllamaChat, kChat + R"(,"think":false)").chat.at("enable_thinking"), false);
}

TEST(OllamaRequest, GeneratesByTheTemplateOrRaw) {
  const GenerationRequest chat =
      Good(ReadOllamaGenerate, R"("prompt":"Hi","system":"Be brief.","context":[],"suffix":"")");
  EXPECT_EQ(chat.kind, GenerationKind::kChat);
  EXPECT_EQ(chat.chat.at("messages"), json::parse(R"([{"role":"system","content":"Be brief."},)"
                                                  R"({"role":"user","content":"Hi"}])"));
  const GenerationRequest raw = Good(ReadOllamaGenerate, R"("prompt":"Hi","raw":true)");
  EXPECT_EQ(raw.kind, GenerationKind::kCompletion);
  EXPECT_EQ(std::get<std::string>(raw.prompts.at(0)), "Hi");
}

TEST(OllamaRequest, WithoutATextAsksForTheModelToBeLoaded) {
  EXPECT_TRUE(Good(ReadOllamaGenerate, "").only_loads);
  EXPECT_TRUE(Good(ReadOllamaGenerate, R"("prompt":"","keep_alive":-1)").only_loads);
  EXPECT_TRUE(Good(ReadOllamaChat, "").only_loads);
  EXPECT_TRUE(Good(ReadOllamaChat, R"("messages":[])").only_loads);
  EXPECT_FALSE(Good(ReadOllamaChat, kChat).only_loads);
  const GenerationRequest gap = Good(ReadOllamaGenerate, R"("prompt":"","suffix":"b")");
  EXPECT_FALSE(gap.only_loads);
  EXPECT_EQ(gap.gap->behind, "b");
  EXPECT_EQ(gap.kind, GenerationKind::kCompletion);
  EXPECT_FALSE(Good(ReadOllamaGenerate, R"("prompt":"x","raw":true)").only_loads);
}

TEST(OllamaEmbedding, ReadsTextsByBothNames) {
  const auto read = [](auto* reader, std::string_view body) {
    const auto request = reader(json::parse(body));
    const auto* error = std::get_if<ApiError>(&request);
    return error != nullptr ? error->param
                            : std::to_string(std::get<EmbeddingRequest>(request).inputs.size());
  };
  EXPECT_EQ(read(ReadOllamaEmbed, R"({"model":"m:latest","input":"a","truncate":true})"), "1");
  EXPECT_EQ(read(ReadOllamaEmbed, R"({"input":["a","b"],"options":{},"keep_alive":"5m"})"), "2");
  EXPECT_EQ(read(ReadOllamaEmbed, R"({"prompt":"a"})"), "input");
  EXPECT_EQ(read(ReadOllamaEmbed, R"({"input":""})"), "input");
  EXPECT_EQ(read(ReadOllamaEmbed, R"({"input":"a","dimensions":0})"), "dimensions");
  EXPECT_EQ(read(ReadOllamaEmbeddings, R"({"prompt":"a"})"), "1");
  EXPECT_EQ(read(ReadOllamaEmbeddings, R"({"prompt":["a","b"]})"), "prompt");
  EXPECT_EQ(read(ReadOllamaEmbeddings, R"({"input":"a"})"), "prompt");
}

TEST(OllamaEmbedding, WritesBareVectors) {
  const std::vector<std::vector<float>> vectors = {{0.5f, -1}, {2, 0.25f}};
  const auto text = [](const VectorWriter& writer, std::vector<std::vector<float>> list) {
    std::string all(writer.opening());
    for (const std::string& piece : writer.List(std::move(list))) all += piece;
    JsonWriter members;
    members.BeginObject();
    writer.AddMembers(
        {.id = {}, .model = "m", .fingerprint = "f", .prompt_tokens = 3, .seconds = 2}, members);
    members.EndObject();
    return all + "," + members.Take().substr(1);
  };
  const std::string rest =
      R"("model":"m","system_fingerprint":"f","total_duration":2000000000,"load_duration":0,)"
      R"("prompt_eval_count":3})";
  EXPECT_EQ(text(OllamaEmbeddingWriter(EmbeddingStyle::kOllama), vectors),
            R"({"embeddings":[[0.5,-1],[2,0.25]],)" + rest);
  EXPECT_EQ(text(OllamaEmbeddingWriter(EmbeddingStyle::kOllamaOne), {vectors[1]}),
            R"({"embedding":[2,0.25],)" + rest);
}

TEST(OllamaRequest, HasAFormat) {
  EXPECT_FALSE(Good(ReadOllamaChat, kChat + R"(,"format":"")").grammar);
  EXPECT_TRUE(Good(ReadOllamaChat, kChat + R"(,"format":{})").grammar->is_raw);
  EXPECT_FALSE(Good(ReadOllamaChat, kChat + R"(,"format":"json")").grammar->is_raw);
  const GenerationRequest request =
      Good(ReadOllamaGenerate, R"("prompt":"Hi","format":{"type":"object"})");
  EXPECT_TRUE(request.grammar->is_raw);
  EXPECT_EQ(PointerOf(*request.grammar), "/format");
}

TEST(OllamaRequest, NamesWhatIsWrong) {
  EXPECT_EQ(Param(ReadOllamaChat, R"("messages":7)"), "messages");
  EXPECT_EQ(Param(ReadOllamaChat, R"("messages":[7])"), "messages[0]");
  EXPECT_EQ(Param(ReadOllamaChat, R"("messages":[{"role":"x","content":""}])"), "messages[0].role");
  EXPECT_EQ(Param(ReadOllamaChat, R"("messages":[{"role":"user","content":"x","images":["AA"]}])"),
            "messages[0].images");
  EXPECT_EQ(ParamOfChat(R"("options":7)"), "options");
  EXPECT_EQ(ParamOfChat(R"("options":{"temperature":-1})"), "options.temperature");
  EXPECT_EQ(ParamOfChat(R"("options":{"num_predict":0})"), "options.num_predict");
  EXPECT_EQ(ParamOfChat(R"("options":{"mirostat":1})"), "options.mirostat");
  EXPECT_EQ(ParamOfChat(R"("options":{"stop":""})"), "options.stop");
  EXPECT_EQ(ParamOfChat(R"("think":7)"), "think");
  EXPECT_EQ(ParamOfChat(R"("format":"xml")"), "format");
  EXPECT_EQ(ParamOfChat(R"("logprobs":true)"), "logprobs");
  EXPECT_EQ(ParamOfChat(R"("template":"x")"), "template");
  EXPECT_EQ(Param(ReadOllamaGenerate, R"("prompt":7)"), "prompt");
  EXPECT_EQ(ParamOfGenerate(R"("suffix":7)"), "suffix");
  EXPECT_EQ(ParamOfGenerate(R"("suffix":"x","system":"y")"), "system");
  EXPECT_EQ(ParamOfGenerate(R"("template":"x")"), "template");
  EXPECT_EQ(ParamOfGenerate(R"("context":[1])"), "context");
  EXPECT_EQ(ParamOfGenerate(R"("images":["AA"])"), "images");
  EXPECT_EQ(ParamOfGenerate(R"("raw":true,"system":"x")"), "system");
}

}  // namespace
}  // namespace skald::server
