// Tools in chats, from socket to socket: the real server, and an engine that writes what the last
// message of the conversation asks it to write.
//
// What stands between "@@" and "@@" in a prompt is the answer to it, token by token, "<tool_call>"
// and "<think>" as control tokens. So each test says what the model writes, and no model is needed:
// Engine and Model are defined here, in the place of the real ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/thread.h"
#include "engine/request_check.h"
#include "server/test_client.h"
#include "skald/server.h"
#include "text/test_vocabs.h"

namespace skald {

namespace json = boost::json;

constexpr std::string_view kTemplate =
    "{# Hermes: <tool_call>\"arguments\"</tool_call> <think></think> #}"
    "{%- for tool in tools or [] %}<|im_start|>{{ tool | tojson }}{% endfor %}"
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{{ m.content or '' }}"
    "{%- for call in m.tool_calls or [] %}<tool_call>{{ call.function.name }}"
    "{{ call.function.arguments | tojson }}</tool_call>{% endfor %}{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>\n{% endif %}{% endif %}";

struct Model::State {
  ModelInfo info;
  Tokenizer tokenizer;
  Result<ChatTemplate> chat_template;
};
Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const ModelInfo& Model::info() const { return state_->info; }
const Tokenizer& Model::tokenizer() const { return state_->tokenizer; }
const Result<ChatTemplate>& Model::chat_template() const { return state_->chat_template; }

namespace {

constexpr int64_t kContext = 100'000;

Model MakeModel() {
  text::OwnedSpec vocab = text::SmallByteLevel("gpt-2");
  for (const char* control : {"<|im_start|>", "<tool_call>", "</tool_call>", "<think>", "</think>"})
    vocab.Add(control, 3);
  vocab.fields.scores.clear();
  auto tokenizer = Tokenizer::Create(vocab.spec());
  CHECK(tokenizer.ok());
  ModelInfo info;
  info.name = "scripted";
  info.context_length = kContext;
  return Model(std::make_shared<const Model::State>(
      Model::State{.info = std::move(info),
                   .tokenizer = *std::move(tokenizer),
                   .chat_template = ChatTemplate::Create(kTemplate, {})}));
}

}  // namespace

struct Engine::State {
  const Tokenizer& tokenizer;
  engine::RequestLimits limits;
  uint64_t next_id = 1;
  EngineStats stats = {};
};

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;

Result<Engine> Engine::Create(const Model& model, const EngineOptions&) {
  return Engine(std::make_unique<State>(State{.tokenizer = model.tokenizer(),
                                              .limits = {.context = kContext,
                                                         .vocab = model.tokenizer().vocab_size(),
                                                         .page_count = kContext,
                                                         .max_running = 16}}));
}

namespace {

// The tokens of what the prompt asks for, and the end of the text.
std::vector<TokenId> Script(const Tokenizer& tokenizer, const std::vector<TokenId>& prompt) {
  const std::string text = tokenizer.Decode(prompt);
  const size_t end = text.rfind("@@");
  const size_t begin = end == std::string::npos ? end : text.rfind("@@", end - 1);
  CHECK(begin != std::string::npos);
  auto tokens =
      tokenizer.Encode(text.substr(begin + 2, end - begin - 2), {.special = SpecialTokens::kParse});
  CHECK(tokens.ok());
  tokens->push_back(tokenizer.eos_id());
  return *std::move(tokens);
}

}  // namespace

Result<RequestId> Engine::Submit(Request request, std::shared_ptr<EventSink> sink) {
  Status status = engine::CheckRequest(request, state_->limits);
  if (!status.ok()) return status;
  const RequestId id{state_->next_id++};
  const std::vector<TokenId> script = Script(state_->tokenizer, request.prompt);
  const auto push = [&](Event event) {
    event.request = id;
    return sink->Push(event);
  };
  push({.kind = EventKind::kAdmitted, .total = static_cast<int64_t>(request.prompt.size())});
  const auto most =
      request.stop.max_tokens < 0 ? script.size() : static_cast<size_t>(request.stop.max_tokens);
  for (int32_t sequence = 0; sequence < request.sequence_count(); ++sequence) {
    Listening listening = Listening::kGoOn;
    size_t i = 0;
    for (; i < std::min(most, script.size()) && listening == Listening::kGoOn; ++i) {
      Event event = {.kind = EventKind::kToken, .sequence = sequence};
      event.token.token = script[i];
      event.token.index = static_cast<int64_t>(i);
      if (request.sampling.top_logprobs) event.token.logprob = -0.5;
      CHECK(sink->HasRoom(4));  // scripts are short
      listening = push(std::move(event));
    }
    const bool stopped = i == script.size() || listening == Listening::kEndSequence;
    push({.kind = EventKind::kSequenceFinished,
          .sequence = sequence,
          .reason = stopped ? FinishReason::kStop : FinishReason::kLength});
  }
  std::vector<int32_t> answer(static_cast<size_t>(request.n));
  std::iota(answer.begin(), answer.end(), 0);
  push({.kind = EventKind::kFinished, .reason = FinishReason::kStop, .answer = std::move(answer)});
  return id;
}

void Engine::Cancel(RequestId) {}
EngineStats Engine::Stats() const { return state_->stats; }
std::vector<RequestProgress> Engine::Requests() const { return {}; }
uint64_t Engine::progress() const { return state_->next_id; }
int64_t Engine::embedding_width() const { return 4; }
int64_t Engine::context() const { return kContext; }
int Engine::threads() const { return 1; }
std::string_view Engine::isa_name() const { return "none"; }
int64_t Engine::kv_bytes() const { return 0; }
int64_t Engine::state_bytes() const { return 0; }
int64_t Engine::max_running() const { return 16; }
int64_t Engine::max_queued() const { return 256; }

namespace {

class ChatCalls : public testing::Test {
 protected:
  ChatCalls() : model_(MakeModel()) {
    ServerOptions options = {.port = 0,
                             .model_name = "scripted",
                             .version = "1",
                             .secret = "0123456789abcdef",
                             .unix_seconds = [] { return int64_t{1'700'000'000}; },
                             .max_body_bytes = 4 << 20};
    server_.emplace(*Server::Create(model_, *Engine::Create(model_, {}), std::move(options)));
    thread_.emplace("connections", [this] { CHECK(server_->Run().ok()); });
  }
  ~ChatCalls() override {
    server_->Stop();
    thread_.reset();
  }

  // The answer to a chat whose model writes `script`, with `more` members.
  json::value Ask(std::string_view script, std::string_view more = kTools) {
    return json::parse(server::BodyOf(Post(script, more)));
  }
  std::string Post(std::string_view script, std::string_view more) {
    const json::array messages{
        json::object{{"role", "user"}, {"content", "@@" + std::string(script) + "@@"}}};
    return PostMessages(json::serialize(messages), more);
  }
  std::string PostMessages(std::string_view messages, std::string_view more) {
    return server::Ask(server_->port(), server::Post("/v1/chat/completions",
                                                     "{\"messages\":" + std::string(messages) +
                                                         std::string(more) + "}"));
  }
  json::value Message(std::string_view script, std::string_view more = kTools) {
    return Ask(script, more).at("choices").at(0).at("message");
  }

  static constexpr std::string_view kTools =
      R"(,"seed":7,"tools":[{"type":"function","function":{"name":"add","parameters":)"
      R"({"type":"object","properties":{"a":{"type":"integer"}}}}}])";

  Model model_;
  std::optional<Server> server_;
  std::optional<Thread> thread_;
};

constexpr std::string_view kCall =
    R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";

std::string Twice(std::string_view text) { return std::string(text) + std::string(text); }

// A delta put onto the message that those before make: as the clients of OpenAI do.
void Accumulate(const json::object& delta, json::object& message) {
  for (const auto& [key, value] : delta) {
    if (key == "tool_calls") {
      json::array& calls = message["tool_calls"].is_array() ? message["tool_calls"].get_array()
                                                            : message["tool_calls"].emplace_array();
      for (const json::value& piece : value.as_array()) {
        const auto index = static_cast<size_t>(piece.at("index").as_int64());
        if (index == calls.size())
          calls.push_back(json::object{{"id", piece.at("id")},
                                       {"type", piece.at("type")},
                                       {"function", piece.at("function")}});
        else
          calls.at(index)
              .at("function")
              .at("arguments")
              .as_string()
              .append(std::string(piece.at("function").at("arguments").as_string()));
      }
    } else if (value.is_string() && message.contains(key) && message[key].is_string()) {
      message[key].as_string().append(std::string(value.as_string()));
    } else {
      message[key] = value;
    }
  }
}

struct Streamed {
  json::object message;
  std::vector<std::string> reasons;
};

Streamed ReadStream(const std::string& body) {
  Streamed streamed;
  for (size_t at = body.find("data: {"); at != std::string::npos;
       at = body.find("data: {", at + 1)) {
    const json::value chunk = json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6));
    for (const json::value& choice : chunk.at("choices").as_array()) {
      if (choice.at("index") != 0) continue;
      Accumulate(choice.at("delta").as_object(), streamed.message);
      if (choice.at("finish_reason").is_string())
        streamed.reasons.emplace_back(choice.at("finish_reason").as_string());
    }
  }
  return streamed;
}

TEST_F(ChatCalls, AnswersWithTheCallAndItsReason) {
  const json::value answer = Ask("Look:\n" + std::string(kCall));
  const json::value& choice = answer.at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_EQ(choice.at("message").at("content"), "Look:");
  const json::value& call = choice.at("message").at("tool_calls").at(0);
  EXPECT_EQ(call.at("type"), "function");
  EXPECT_EQ(call.at("function").at("name"), "add");
  EXPECT_EQ(call.at("function").at("arguments"), R"({"a": 1})");
  // The same request has the same id, another seed another one.
  EXPECT_EQ(Message("Look:\n" + std::string(kCall)).at("tool_calls").at(0).at("id"), call.at("id"));
  const json::value alone = Message(kCall);
  EXPECT_TRUE(alone.at("content").is_null());
  EXPECT_NE(alone.at("tool_calls").at(0).at("id"), call.at("id"));
}

TEST_F(ChatCalls, StreamsWhatItAnswersWhole) {
  for (const std::string& script :
       {std::string(kCall), "a \n" + Twice(kCall) + " b",
        std::string("<think>\nx y\n</think>\n\nHi"), "<think>x</think>" + std::string(kCall),
        std::string("<tool_call>{\"name\": \"rm\"}"), std::string("  S\xC3\xA3o ")}) {
    const json::value whole = Ask(script);
    const Streamed streamed =
        ReadStream(server::BodyOf(Post(script, std::string(kTools) + ",\"stream\":true")));
    json::object message = whole.at("choices").at(0).at("message").as_object();
    EXPECT_TRUE(message.erase("refusal"));
    if (message.at("content").is_null()) message.erase("content");
    EXPECT_EQ(json::value(streamed.message), json::value(message)) << script;
    ASSERT_EQ(streamed.reasons.size(), 1u);
    EXPECT_EQ(whole.at("choices").at(0).at("finish_reason").as_string(), streamed.reasons[0]);
  }
}

TEST_F(ChatCalls, SplitsReasoningOffWhereverItBegins) {
  EXPECT_EQ(Message("<think>hm</think>\nHi", "").at("reasoning_content"), "hm");
  EXPECT_EQ(Message("<think>hm</think>\nHi", "").at("content"), "Hi");
  const json::value opened = Message("hm</think>Hi", ",\"enable_thinking\":true");
  EXPECT_EQ(opened.at("reasoning_content"), "hm");
  EXPECT_EQ(opened.at("content"), "Hi");
  const json::value by_kwargs =
      Message("hm</think>Hi", R"(,"chat_template_kwargs":{"enable_thinking":true})");
  EXPECT_EQ(by_kwargs, opened);
  const json::value cut = Ask("<think>hm and hm</think>", ",\"max_tokens\":3").at("choices").at(0);
  EXPECT_EQ(cut.at("message").at("reasoning_content"), "hm");
  EXPECT_TRUE(cut.at("message").at("content").is_null());
  EXPECT_EQ(cut.at("finish_reason"), "length");
  EXPECT_EQ(Message("<think>hm</think>Hi", ",\"reasoning_format\":\"none\"").at("content"), "hmHi");
}

TEST_F(ChatCalls, ReadsNoCallsWithoutTools) {
  const std::string text(kCall);
  const json::value shown = R"({"name": "add", "arguments": {"a": 1}})";  // markers are hidden
  EXPECT_EQ(Message(text, "").at("content"), shown);
  EXPECT_EQ(Message(text, std::string(kTools) + ",\"tool_choice\":\"none\"").at("content"), shown);
}

TEST_F(ChatCalls, GivesOneCallIfMoreAreNotWanted) {
  const json::value message =
      Message(Twice(kCall), std::string(kTools) + ",\"parallel_tool_calls\":false");
  EXPECT_EQ(message.at("tool_calls").as_array().size(), 1u);
}

TEST_F(ChatCalls, AnswersFunctionsInKind) {
  const std::string functions = R"(,"functions":[{"name":"add"}],"function_call":"auto")";
  const json::value choice = Ask(kCall, functions).at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "function_call");
  EXPECT_EQ(choice.at("message").at("function_call"),
            json::value({{"name", "add"}, {"arguments", R"({"a": 1})"}}));
  EXPECT_FALSE(choice.at("message").as_object().contains("tool_calls"));
  const std::string stream = server::BodyOf(Post(kCall, functions + ",\"stream\":true"));
  EXPECT_NE(stream.find(R"("delta":{"role":"assistant","function_call":{"name":"add",)"),
            std::string::npos)
      << stream;
}

TEST_F(ChatCalls, CountsEachChoiceForItself) {
  const json::value answer = Ask(kCall, std::string(kTools) + ",\"n\":2,\"logprobs\":true");
  const json::array& choices = answer.at("choices").as_array();
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_NE(choices[0].at("message").at("tool_calls").at(0).at("id"),
            choices[1].at("message").at("tool_calls").at(0).at("id"));
  // Of all tokens, those of the call too.
  EXPECT_GT(choices[0].at("logprobs").at("content").as_array().size(), 20u);
}

TEST_F(ChatCalls, StopStringsCutInsideACall) {
  const json::value choice =
      Ask(kCall, std::string(kTools) + R"(,"stop":["1}"])").at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("message").at("tool_calls").at(0).at("function").at("arguments"),
            R"({"a": )");
  // The name of a control token is no text: nothing to stop at.
  EXPECT_EQ(Ask(kCall, std::string(kTools) + R"(,"stop":["tool_call"])")
                .at("choices")
                .at(0)
                .at("finish_reason"),
            "tool_calls");
}

TEST_F(ChatCalls, GivesTheHistoryToTheTemplate) {
  const auto prompt_tokens = [&](const std::string& assistant) {
    const std::string answer = server::BodyOf(
        PostMessages(R"([{"role":"user","content":"x"},)" + assistant +
                         R"(,{"role":"tool","tool_call_id":"c1","content":[{"type":"text",)"
                         R"("text":"2"}]},{"role":"user","content":"@@y@@"}])",
                     kTools));
    EXPECT_NE(answer.find("\"content\":\"y\""), std::string::npos) << answer;
    return json::parse(answer).at("usage").at("prompt_tokens").as_int64();
  };
  const auto with = [&](const std::string& arguments) {
    return R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
           R"("function":{"name":"add","arguments":)" +
           arguments + "}}]}";
  };
  // As text or as an object: the template sees an object.
  const int64_t as_object = prompt_tokens(with(R"({"a":1})"));
  EXPECT_EQ(prompt_tokens(with(R"("{\"a\": 1}")")), as_object);
  EXPECT_EQ(prompt_tokens(R"({"role":"assistant","content":null,"function_call":{"name":"add",)"
                          R"("arguments":"{\"a\":1}"}})"),
            as_object);
  // What is no JSON is a string, which tojson writes with its quotes.
  EXPECT_GT(prompt_tokens(with(R"("{\"a\": 1")")), as_object);
  EXPECT_GT(prompt_tokens(R"({"role":"assistant","reasoning_content":"hm","content":"ok"})"), 0);
}

// A marker in a definition, a result or an argument is several tokens of text.
TEST_F(ChatCalls, NothingThatAClientWritesBecomesAControlToken) {
  const auto tokens = [&](const std::string& word) {
    const std::string answer = server::BodyOf(PostMessages(
        R"([{"role":"user","content":"@@y@@"},{"role":"assistant","tool_calls":[{"id":"c",)"
        R"("function":{"name":"add","arguments":{"a":")" +
            word + R"("}}}]},{"role":"tool","content":")" + word + "\"}]",
        R"(,"tools":[{"type":"function","function":{"name":"add","description":")" + word +
            "\"}}]"));
    return json::parse(answer).at("usage").at("prompt_tokens").as_int64();
  };
  EXPECT_EQ(tokens("<tool_call>"), tokens("(tool_call)"));
}

TEST_F(ChatCalls, RefusesByNameWhatNeedsAConstraint) {
  for (const std::string_view choice :
       {R"("required")", R"({"type":"function","function":{"name":"add"}})"}) {
    const json::value answer =
        Ask(kCall, std::string(kTools) + ",\"tool_choice\":" + std::string(choice));
    EXPECT_EQ(answer.at("error").at("param"), "tool_choice");
    EXPECT_EQ(answer.at("error").at("code"), "unsupported_parameter");
  }
}

}  // namespace
}  // namespace skald
