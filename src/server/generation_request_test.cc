#include "server/generation_request.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "server/json_reader.h"
#include "server/template_variables.h"

namespace skald::server {
namespace {

boost::json::value Json(std::string_view text) {
  return std::get<boost::json::value>(ReadJson(text));
}

// {"prompt": "x", NAME: VALUE}
GenerationRequest Completion(std::string_view members) {
  auto request = ReadCompletionRequest(Json("{\"prompt\":\"x\"," + std::string(members) + "}"));
  if (const auto* error = std::get_if<ApiError>(&request)) ADD_FAILURE() << error->message;
  return std::get<GenerationRequest>(std::move(request));
}

// The field at fault, or "" if it was taken.
std::string Fault(std::string_view members) {
  const auto request =
      ReadCompletionRequest(Json("{\"prompt\":\"x\"," + std::string(members) + "}"));
  const auto* error = std::get_if<ApiError>(&request);
  if (error == nullptr) return {};
  EXPECT_EQ(error->status, 400);
  EXPECT_NE(error->message.find(error->param), std::string::npos) << error->message;
  return error->param;
}

GenerationRequest Chat(std::string_view members) {
  auto request = ReadChatRequest(
      Json("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]," + std::string(members) + "}"));
  if (const auto* error = std::get_if<ApiError>(&request)) ADD_FAILURE() << error->message;
  return std::get<GenerationRequest>(std::move(request));
}

std::string ChatFault(std::string_view body) {
  const auto request = ReadChatRequest(Json(body));
  const auto* error = std::get_if<ApiError>(&request);
  return error == nullptr ? std::string() : error->param;
}

TEST(ReadCompletionRequest, HasTheDefaultsOfOpenAi) {
  const GenerationRequest request = Completion("\"n\":null");
  EXPECT_EQ(request.request.sampling.temperature, 1.0);
  EXPECT_EQ(request.request.sampling.truncation.top_k, 0);
  EXPECT_EQ(request.request.sampling.truncation.top_p, 1.0);
  EXPECT_EQ(request.request.sampling.truncation.min_p, 0.0);
  EXPECT_EQ(request.request.stop.max_tokens, 16);
  EXPECT_EQ(request.request.n, 1);
  EXPECT_FALSE(request.has_seed);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.request.sampling.top_logprobs.has_value());
  EXPECT_EQ(Chat("\"n\":1").request.stop.max_tokens, -1);
}

TEST(ReadCompletionRequest, TakesEveryField) {
  const GenerationRequest request = Completion(
      R"("model":"m","max_tokens":5,"temperature":0.5,"top_p":0.9,"top_k":3,"min_p":0.1,
         "presence_penalty":1,"frequency_penalty":-1,"repetition_penalty":1.1,"n":2,"best_of":3,
         "seed":-2,"stop":["a","b"],"stop_token_ids":[1],"ignore_eos":true,"min_tokens":2,
         "logit_bias":{"7":-100},"logprobs":3,"echo":false,"cache_salt":"s","priority":-3,
         "user":"u")");
  const SamplingParams& sampling = request.request.sampling;
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(sampling.temperature, 0.5);
  EXPECT_EQ(sampling.truncation.top_p, 0.9);
  EXPECT_EQ(sampling.truncation.top_k, 3);
  EXPECT_EQ(sampling.truncation.min_p, 0.1);
  EXPECT_EQ(sampling.penalties.presence, 1);
  EXPECT_EQ(sampling.penalties.frequency, -1);
  EXPECT_EQ(sampling.penalties.repetition, 1.1);
  EXPECT_EQ(sampling.penalties.last_n, -1);
  EXPECT_EQ(sampling.seed, ~uint64_t{1});
  ASSERT_EQ(sampling.logit_bias.size(), 1u);
  EXPECT_EQ(sampling.logit_bias[0].token, 7);
  EXPECT_EQ(sampling.top_logprobs, 3);
  EXPECT_EQ(request.request.n, 2);
  EXPECT_EQ(request.request.best_of, 3);
  EXPECT_EQ(request.request.stop.max_tokens, 5);
  EXPECT_EQ(request.request.stop.min_tokens, 2);
  EXPECT_TRUE(request.request.stop.ignore_eos);
  EXPECT_EQ(request.request.stop.stop_tokens, std::vector<TokenId>{1});
  EXPECT_EQ(request.request.priority, 3);  // vLLM: lower first; the engine: higher first
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.cache_salt, "s");
  EXPECT_TRUE(request.ignored.empty());
}

TEST(ReadCompletionRequest, RefusesWhatIsOutOfRangeOrOfAnotherType) {
  for (const std::string_view member : {R"("temperature":-1)",
                                        R"("temperature":1e39)",
                                        R"("temperature":"1")",
                                        R"("top_p":-1)",
                                        R"("top_p":1.1)",
                                        R"("top_k":-2147483648)",
                                        R"("top_k":1.5)",
                                        R"("min_p":2)",
                                        R"("presence_penalty":1e30)",
                                        R"("frequency_penalty":-1e30)",
                                        R"("repetition_penalty":0)",
                                        R"("repeat_penalty":1e-300)",
                                        R"("max_tokens":0)",
                                        R"("max_tokens":-5)",
                                        R"("max_tokens":9223372036854775808)",
                                        R"("max_tokens":"4")",
                                        R"("max_tokens":4.5)",
                                        R"("max_tokens":true)",
                                        R"("max_tokens":[])",
                                        R"("max_tokens":{})",
                                        R"("n":0)",
                                        R"("n":-1)",
                                        R"("n":1000000000)",
                                        R"("best_of":1000000000)",
                                        R"("logprobs":21)",
                                        R"("logprobs":-1)",
                                        R"("logprobs":true)",
                                        R"("seed":18446744073709551616)",
                                        R"("seed":1.5)",
                                        R"("stream":"yes")",
                                        R"("stream_options":[])",
                                        R"("min_tokens":-1)",
                                        R"("stop":"")",
                                        R"("stop":[""])",
                                        R"("stop":[1,{}])",
                                        R"("stop":{})",
                                        R"("logit_bias":{"-1":1})",
                                        R"("logit_bias":{"a":1})",
                                        R"("logit_bias":{"1":1e308})",
                                        R"("logit_bias":{"1":"x"})",
                                        R"("logit_bias":[1])",
                                        R"("stop_token_ids":[-1])",
                                        R"("stop_token_ids":7)",
                                        R"("cache_salt":7)",
                                        R"("priority":1e9)",
                                        R"("model":7)",
                                        R"("echo":1)",
                                        R"("ignore_eos":"no")",
                                        R"("response_format":7)",
                                        R"("response_format":{})"}) {
    const size_t end = member.find('"', 1);
    EXPECT_EQ(Fault(member), member.substr(1, end - 1)) << member;
  }
}

TEST(ReadCompletionRequest, BoundsListsAtTheirLimits) {
  const auto stops = [](size_t count) {
    std::string list = "\"stop\":[\"a\"";
    for (size_t i = 1; i < count; ++i) list += ",\"a\"";
    return list + "]";
  };
  EXPECT_EQ(Fault(stops(kMaxStopStrings)), "");
  EXPECT_EQ(Fault(stops(kMaxStopStrings + 1)), "stop");
  EXPECT_EQ(Fault("\"stop\":\"" + std::string(kMaxStopStringBytes, 'a') + "\""), "");
  EXPECT_EQ(Fault("\"stop\":\"" + std::string(kMaxStopStringBytes + 1, 'a') + "\""), "stop");
  const auto biases = [](size_t count) {
    std::string object = "\"logit_bias\":{\"0\":1";
    for (size_t i = 1; i < count; ++i) object += ",\"" + std::to_string(i) + "\":1";
    return object + "}";
  };
  EXPECT_EQ(Fault(biases(kMaxLogitBiases)), "");
  EXPECT_EQ(Fault(biases(kMaxLogitBiases + 1)), "logit_bias");
}

TEST(ReadCompletionRequest, RefusesCombinationsThatMakeNoSense) {
  EXPECT_EQ(Fault(R"("n":2,"best_of":1)"), "best_of");
  EXPECT_EQ(Fault(R"("best_of":2,"stream":true)"), "best_of");
  EXPECT_EQ(Fault(R"("min_tokens":5,"max_tokens":4)"), "min_tokens");
  EXPECT_EQ(Fault(R"("min_tokens":17)"), "min_tokens");  // of the 16 of the default
  EXPECT_EQ(Fault(R"("echo":true,"logprobs":1,"stream":true)"), "logprobs");
  EXPECT_EQ(Fault(R"("prompt_logprobs":1,"stream":true)"), "prompt_logprobs");
}

TEST(ReadCompletionRequest, ReadsHowThePromptIsScored) {
  GenerationRequest request = Completion(R"("echo":true,"logprobs":2,"max_tokens":0)");
  EXPECT_EQ(request.request.stop.max_tokens, 0);
  EXPECT_EQ(request.request.prompt_logprobs, 2);
  EXPECT_FALSE(request.prompt_logprobs.has_value());
  request = Completion(R"("echo":true,"logprobs":2,"prompt_logprobs":5)");
  EXPECT_EQ(request.request.prompt_logprobs, 5);
  EXPECT_EQ(request.prompt_logprobs, 5);
  EXPECT_EQ(request.request.sampling.top_logprobs, 2);
  EXPECT_EQ(Completion(R"("prompt_logprobs":0,"max_tokens":0)").request.prompt_logprobs, 0);
  EXPECT_FALSE(Completion(R"("logprobs":2)").request.prompt_logprobs.has_value());
  EXPECT_EQ(Fault(R"("echo":true,"max_tokens":0)"), "");
  EXPECT_EQ(Fault(R"("echo":true,"max_tokens":0,"min_tokens":1)"), "min_tokens");
  for (const char* many : {"-1", "21", "1000000000", "true", "\"1\"", "1.5"})
    EXPECT_EQ(Fault(R"("prompt_logprobs":)" + std::string(many)), "prompt_logprobs") << many;
}

TEST(ReadCompletionRequest, RefusesWhatItDoesNotHaveUnlessItIsDeclined) {
  EXPECT_EQ(Completion(R"("suffix":"x")").gap->behind, "x");
  EXPECT_EQ(Fault(R"("suffix":"x","echo":true)"), "echo");
  EXPECT_EQ(Fault(R"("suffix":7)"), "suffix");
  EXPECT_FALSE(Completion(R"("suffix":null)").gap.has_value());
  EXPECT_FALSE(Completion(R"("suffix":"")").gap.has_value());
  EXPECT_EQ(Fault(R"("tools":[])"), "");
  EXPECT_EQ(Fault(R"("tools":[{}])"), "tools");
  EXPECT_EQ(Fault(R"("grammar_lazy":true)"), "grammar_lazy");
  EXPECT_EQ(Fault(R"("format":"json")"), "format");
  EXPECT_EQ(Fault(R"("response_format":{"type":"text"})"), "");
  EXPECT_EQ(Fault(R"("response_format":{"type":"structural_tag"})"), "response_format");
}

// The answer would be another one than the client believes.
TEST(ReadCompletionRequest, RefusesByNameWhatWouldChangeTheAnswer) {
  for (const std::string_view member : {R"("mirostat":1)",
                                        R"("dry_unheard_of":1)",
                                        R"("samplers":["top_k"])",
                                        R"("n_predict":8)",
                                        R"("num_predict":8)",
                                        R"("thinking":{"type":"enabled"})",
                                        R"("think":true)",
                                        R"("format":"json")",
                                        R"("options":{"seed":1})",
                                        R"("n_probs":3)",
                                        R"("continue_final_message":true)",
                                        R"("chat_template_kwargs":{"a":1})",
                                        R"("repeat_last_n":64)",
                                        R"("smoothing_factor":0.5)",
                                        R"("skip_special_tokens":false)",
                                        R"("add_special_tokens":false)",
                                        R"("num_beams":4)",
                                        R"("tool_choice":"required")",
                                        R"("modalities":["text","audio"])",
                                        R"("verbosity":"low")",
                                        R"("max_new_tokens":5)",
                                        R"("guided_whitespace_pattern":"x")",
                                        R"("stop_sequences":["a"])",
                                        R"("grammar_lazy":true)",
                                        R"("length_penalty":2)",
                                        R"("reasoning":{"effort":"low"})"}) {
    const size_t end = member.find('"', 1);
    EXPECT_EQ(Fault(member), member.substr(1, end - 1)) << member;
  }
}

// Clients that have a window full of settings send all of them.
TEST(ReadCompletionRequest, TakesWhatIsSwitchedOff) {
  for (const std::string_view member :
       {R"("mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.1)",
        R"("dry_multiplier":0,"dry_base":1.75,"dry_sequence_breakers":["x"])",
        R"("xtc_probability":0.0,"xtc_threshold":0.1)", R"("n_probs":0)", R"("num_beams":1)",
        R"("repeat_last_n":-1)", R"("top_n_sigma":-1)", R"("length_penalty":1.0)",
        R"("skip_special_tokens":true)", R"("add_special_tokens":true)", R"("tool_choice":"auto")",
        R"("thinking":{"type":"disabled"})", R"("modalities":["text"])", R"("mirostat_tau":null)",
        R"("chat_template_kwargs":{})", R"("continue_final_message":false)",
        R"("reasoning_format":"none")", R"("cache_prompt":false)", R"("store":true)"}) {
    EXPECT_EQ(Fault(member), "") << member;
    EXPECT_TRUE(Completion(member).ignored.empty()) << member;
  }
}

TEST(ReadCompletionRequest, HasTheSamplersOfLlamaCpp) {
  const GenerationRequest all = Completion(
      R"("dry_multiplier":0.8,"dry_base":2,"dry_allowed_length":3,"dry_penalty_last_n":64,)"
      R"("dry_sequence_breakers":["x"],"xtc_probability":0.5,"xtc_threshold":0.2,)"
      R"("top_n_sigma":1.5,)"
      R"("dynatemp_range":0.5,"dynatemp_exponent":2,"mirostat":2,"mirostat_tau":4,)"
      R"("mirostat_eta":0.2)");
  const SamplingParams& params = all.request.sampling;
  EXPECT_TRUE(params.dry.multiplier == 0.8 && params.dry.base == 2);
  EXPECT_TRUE(params.dry.allowed_length == 3 && params.dry.last_n == 64);
  EXPECT_EQ(all.dry_breakers, (std::vector<std::string>{"x"}));
  EXPECT_EQ(params.truncation.xtc_probability, 0.5);
  EXPECT_EQ(params.truncation.xtc_threshold, 0.2);
  EXPECT_EQ(params.truncation.top_n_sigma, 1.5);
  EXPECT_EQ(params.dynamic_temperature.range, 0.5);
  EXPECT_EQ(params.dynamic_temperature.exponent, 2);
  EXPECT_EQ(params.mirostat.version, 2);
  EXPECT_TRUE(params.mirostat.tau == 4 && params.mirostat.eta == 0.2);
  EXPECT_TRUE(all.ignored.empty());
  EXPECT_EQ(Completion(R"("dry_multiplier":1)").dry_breakers.size(), 4u);
  EXPECT_TRUE(Completion(R"("dry_multiplier":1,"dry_sequence_breakers":[])").dry_breakers.empty());
  EXPECT_EQ(Chat(R"("xtc_probability":1)").request.sampling.truncation.xtc_probability, 1);
  for (const std::string_view wrong :
       {R"("top_n_sigma":101)", R"("xtc_probability":1.1)", R"("dynatemp_range":-1)",
        R"("mirostat":3)", R"("dry_multiplier":-1)"}) {
    EXPECT_EQ(Fault(wrong), wrong.substr(1, wrong.find('"', 1) - 1));
  }
  for (const std::string_view wrong :
       {R"("x")", R"([7])", R"([""])",
        R"(["a","a","a","a","a","a","a","a","a","a","a","a","a","a",)"
        R"("a","a","a"])"}) {
    EXPECT_EQ(Fault(R"("dry_multiplier":1,"dry_sequence_breakers":)" + std::string(wrong)),
              "dry_sequence_breakers");
  }
}

TEST(ReadCompletionRequest, DrawsTheSeedMinusOne) {
  EXPECT_FALSE(Completion(R"("seed":-1)").has_seed);
  EXPECT_TRUE(Completion(R"("seed":-2)").has_seed);
  EXPECT_TRUE(Completion(R"("seed":0)").has_seed);
}

TEST(ReadCompletionRequest, BoundsTheMembersOfABody) {
  const auto body = [](size_t members) {
    std::string text = "\"x0\":1";
    for (size_t i = 2; i < members; ++i) text += ",\"x" + std::to_string(i) + "\":1";
    return text;  // and the prompt
  };
  EXPECT_EQ(Completion(body(kMaxMembers)).ignored.size(), kMaxMembers - 1);
  const auto request =
      ReadCompletionRequest(Json("{\"prompt\":\"x\"," + body(kMaxMembers + 1) + "}"));
  EXPECT_TRUE(std::holds_alternative<ApiError>(request));
}

TEST(ReadCompletionRequest, ReportsFieldsThatNobodyKnows) {
  EXPECT_EQ(Completion(R"("zebra":1,"user":"u","ape":2)").ignored,
            (std::vector<std::string>{"zebra", "ape"}));
}

TEST(ReadPrompts, TakesTheFourForms) {
  const auto count = [](std::string_view json) {
    const auto prompts = ReadPrompts("prompt", Json(json));
    const auto* list = std::get_if<std::vector<PromptInput>>(&prompts);
    return list == nullptr ? size_t{0} : list->size();
  };
  EXPECT_EQ(count("\"a\""), 1u);
  EXPECT_EQ(count("[\"a\",\"b\"]"), 2u);
  EXPECT_EQ(count("[1,2,3]"), 1u);
  EXPECT_EQ(count("[[1,2],[3]]"), 2u);
  for (const std::string_view bad : {"[]", "[[]]", "7", "{}", "[-1]", "[1.5]", "[99999999999]",
                                     "[[1,2],[\"a\",3],[]]", "[1,\"a\"]", "true"}) {
    EXPECT_EQ(count(bad), 0u) << bad;
  }
  const auto many = [&](size_t n) {
    std::string list = "[\"a\"";
    for (size_t i = 1; i < n; ++i) list += ",\"a\"";
    return count(list + "]");
  };
  EXPECT_EQ(many(kMaxPrompts), kMaxPrompts);
  EXPECT_EQ(many(kMaxPrompts + 1), 0u);
}

TEST(ReadChatRequest, TakesMessagesAndParts) {
  const auto request = ReadChatRequest(Json(
      R"({"messages":[{"role":"system","content":"s"},
                      {"role":"user","content":[{"type":"text","text":"a"},
                                                {"type":"text","text":"b"}]}],
          "max_tokens":9,"max_completion_tokens":7,"logprobs":true,"top_logprobs":2})"));
  const auto& chat = std::get<GenerationRequest>(request);
  EXPECT_EQ(chat.request.stop.max_tokens, 7);
  EXPECT_EQ(chat.request.sampling.top_logprobs, 2);
  EXPECT_EQ(chat.chat.at("messages").at(1).at("content"), "ab");
  EXPECT_EQ(chat.chat.at("add_generation_prompt"), true);
}

TEST(ReadChatRequest, MarksCountMessages) {
  const auto read = ReadChatRequest(
      Json(R"({"messages":[{"role":"system","content":"a","cache_control":{"type":"ephemeral"}},)"
           R"({"role":"user","content":"b"},{"role":"user","content":[{"type":"text","text":"c",)"
           R"("cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"d",)"
           R"("cache_control":null}]})"));
  ASSERT_TRUE(std::holds_alternative<GenerationRequest>(read));
  const auto& marked = std::get<GenerationRequest>(read);
  EXPECT_EQ(marked.marked_messages, (std::vector<size_t>{1, 3}));
  EXPECT_EQ(boost::json::serialize(marked.chat).find("cache"), std::string::npos)
      << "no template sees a mark";
}

TEST(ReadChatRequest, TakesTemplateVariables) {
  const GenerationRequest request =
      Chat(R"("chat_template_kwargs":{"thinking_budget":7,"style":{"a":["b"]}})");
  EXPECT_EQ(request.template_variables.at("thinking_budget"), 7);
  EXPECT_EQ(request.template_variables.at("style").at("a").at(0), "b");
  EXPECT_TRUE(request.ignored.empty());
  EXPECT_FALSE(request.chat.contains("thinking_budget"));
}

std::string KwargsFault(std::string_view kwargs) {
  return ChatFault(R"({"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":)" +
                   std::string(kwargs) + "}");
}

TEST(ReadChatRequest, BoundsTemplateVariables) {
  for (const std::string_view kwargs : {"7", R"(["a"])", R"("{}")", "true"})
    EXPECT_EQ(KwargsFault(kwargs), "chat_template_kwargs") << kwargs;
  EXPECT_EQ(KwargsFault("{}"), "");
  EXPECT_EQ(KwargsFault("null"), "");
  const auto list = [](size_t count) {
    std::string text = "{\"a\":[1";
    for (size_t i = 1; i < count; ++i) text += ",1";
    return text + "]}";
  };
  EXPECT_EQ(KwargsFault(list(kMaxTemplateValues - 2)), "");  // beside the object and the list
  EXPECT_EQ(KwargsFault(list(kMaxTemplateValues - 1)), "chat_template_kwargs");
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(KwargsFault(nested(kMaxTemplateDepth)), "");
  EXPECT_EQ(KwargsFault(nested(kMaxTemplateDepth + 1)), "chat_template_kwargs");
  const auto text = [](size_t bytes) { return "{\"a\":\"" + std::string(bytes - 1, 'x') + "\"}"; };
  EXPECT_EQ(KwargsFault(text(kMaxTemplateBytes)), "");
  EXPECT_EQ(KwargsFault(text(kMaxTemplateBytes + 1)), "chat_template_kwargs");
}

TEST(ReadChatRequest, RefusesWhatIsNoConversation) {
  for (const std::string_view messages :
       {"[]", "7", "null", "[7]", "[{}]", R"([{"role":7,"content":"x"}])",
        R"([{"role":"system\n","content":"x"}])", R"([{"role":"user"}])",
        R"([{"role":"user","content":null}])", R"([{"role":"user","content":7}])",
        R"([{"role":"user","content":{}}])", R"([{"role":"user","content":[7]}])",
        R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///x"}}]}])"}) {
    const std::string fault = ChatFault("{\"messages\":" + std::string(messages) + "}");
    EXPECT_TRUE(fault.starts_with("messages")) << messages << " -> " << fault;
  }
  EXPECT_EQ(ChatFault("{}"), "messages");
}

TEST(ReadChatRequest, NeedsLogprobsForTopLogprobs) {
  const std::string messages = R"("messages":[{"role":"user","content":"x"}])";
  EXPECT_EQ(ChatFault("{" + messages + R"(,"top_logprobs":1})"), "top_logprobs");
  EXPECT_EQ(ChatFault("{" + messages + R"(,"logprobs":true,"top_logprobs":21})"), "top_logprobs");
  EXPECT_EQ(ChatFault("{" + messages + R"(,"logprobs":true,"top_logprobs":-1})"), "top_logprobs");
  EXPECT_EQ(Chat(R"("logprobs":true)").request.sampling.top_logprobs, 0);
}

}  // namespace
}  // namespace skald::server
