// What the work on a request costs once nobody wants it any more.
#include "server/served_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/cpu_clock.h"
#include "server/generation_request.h"
#include "server/test_server.h"
#include "server/tokenize.h"

namespace skald::server {
namespace {

namespace json = boost::json;

ServedModel TalesBy(const Engine& engine) {
  return {.model = Tales(),
          .engine = engine,
          .name = "tales",
          .longest_token_bytes = LongestTokenBytes(Tales().tokenizer()),
          .pooling = Pooling::kLast,
          .fingerprint = "fp"};
}

class WorkThatIsOver : public testing::Test {
 protected:
  // Processor seconds that a call costs with a limit, and the status of its error.
  template <typename Call>
  std::pair<double, int> Cost(double cpu_seconds, const Call& call) {
    int status = 200;
    double least = 1e9;  // what a busy machine adds is only ever too much
    for (int i = 0; i < 3; ++i) {
      const CpuClock clock;
      const double begin = clock.Now();
      const WorkLimit limit(cpu_seconds, {.stop = stop_, .unwanted = unwanted_});
      const auto answer = call(limit);
      least = std::min(least, clock.Now() - begin);
      if (const auto* error = std::get_if<ApiError>(&answer)) status = error->status;
    }
    return {least, status};
  }

  const Engine engine_ = MakeEngine();
  const ServedModel served_ = TalesBy(engine_);
  std::atomic<bool> stop_ = false;
  std::atomic<bool> unwanted_ = false;
};

TEST_F(WorkThatIsOver, EndsInTheMiddleOfAText) {
  const json::value body = {{"content", std::string(1 << 20, 'a')}};
  const auto tokenize = [&](const WorkLimit& limit) {
    return AnswerTokenize(served_, body, {.work = limit, .bytes = int64_t{64} << 20});
  };
  const auto [all_seconds, all_status] = Cost(60, tokenize);
  EXPECT_EQ(all_status, 200);
  const auto [late_seconds, late_status] = Cost(0, tokenize);
  EXPECT_EQ(late_status, 400);
  EXPECT_LT(late_seconds, all_seconds / 2);
  unwanted_ = true;
  const auto [gone_seconds, gone_status] = Cost(60, tokenize);
  EXPECT_EQ(gone_status, 400);
  EXPECT_LT(gone_seconds, all_seconds / 2);
}

// The model of these tests has no tokens for it.
TEST_F(WorkThatIsOver, AGapIsFilledByTokensOfTheModelOnly) {
  const auto refusal = [&](const json::value& body) {
    const WorkLimit limit(60, {.stop = stop_, .unwanted = unwanted_});
    const auto prepared = Prepare(served_, std::get<GenerationRequest>(ReadCompletionRequest(body)),
                                  {.limit = limit,
                                   .tenant = std::make_shared<const Tenant>(),
                                   .room = {},
                                   .max_answer_bytes = int64_t{64} << 20});
    const auto* error = std::get_if<ApiError>(&prepared);
    return error == nullptr ? std::string() : error->param + ": " + error->message;
  };
  EXPECT_TRUE(
      refusal({{"prompt", "a"}, {"suffix", "b"}}).starts_with("suffix: suffix: this model"));
  EXPECT_EQ(refusal({{"prompt", {5, 6}}, {"suffix", "b"}}),
            "suffix: suffix needs a prompt that is text, found token ids");
  EXPECT_EQ(refusal({{"prompt", "a"}, {"suffix", ""}}), "");
}

TEST_F(WorkThatIsOver, EndsInTheMiddleOfARendering) {
  json::array messages;
  for (int i = 0; i < 4000; ++i)
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", "x"}});
  const json::value body = {{"messages", messages}};
  const auto prepare = [&](const WorkLimit& limit) -> OrError<PreparedGeneration> {
    auto request = ReadChatRequest(body);
    if (const auto* error = std::get_if<ApiError>(&request)) return *error;
    return Prepare(served_, std::get<GenerationRequest>(std::move(request)),
                   {.limit = limit,
                    .tenant = std::make_shared<const Tenant>(),
                    .room = {},
                    .max_answer_bytes = int64_t{64} << 20});
  };
  // All of it is too long for the model, which is found at its end.
  const auto message = [&](double cpu_seconds) {
    const WorkLimit limit(cpu_seconds, {.stop = stop_, .unwanted = unwanted_});
    const auto prepared = prepare(limit);
    const auto* error = std::get_if<ApiError>(&prepared);
    return error == nullptr ? std::string() : error->code;
  };
  EXPECT_EQ(message(60), "context_length_exceeded");
  EXPECT_EQ(message(0), "too_much_work");
  EXPECT_LT(Cost(0, prepare).first, Cost(60, prepare).first * 0.8) << "reading it costs the rest";
}

// The engine is of a network with recurrent layers, tokenizer and template are the bundled model's.
TEST(PreparedPlaces, AreWhereTheClientMarksForModelsWithStates) {
  const Result<Model> hybrid = LoadModel({.path = SKALD_GOLDEN_MODELS "/qwen35.gguf"});
  ASSERT_TRUE(hybrid.ok()) << hybrid.status().message();
  const auto places = [](const Engine& engine, std::string_view mark) {
    const std::string body =
        R"({"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Who?")" +
        std::string(mark) +
        R"(},{"role":"assistant","content":"I"},{"role":"user","content":"And?"}]})";
    const std::atomic<bool> never = false;
    const WorkLimit limit(60, {.stop = never, .unwanted = never});
    const auto prepared =
        Prepare(TalesBy(engine), std::get<GenerationRequest>(ReadChatRequest(json::parse(body))),
                {.limit = limit,
                 .tenant = std::make_shared<const Tenant>(),
                 .room = {},
                 .max_answer_bytes = int64_t{64} << 20});
    const Request& request = std::get<PreparedGeneration>(prepared).engine_requests.at(0);
    EXPECT_TRUE(request.places.empty() || request.places.back() < std::ssize(request.prompt));
    return request.places.size();
  };
  constexpr std::string_view kMark = R"(,"cache_control":{"type":"ephemeral"})";
  const Result<Engine> with_states = Engine::Create(*hybrid, {.threads = 1});
  ASSERT_TRUE(with_states.ok()) << with_states.status().message();
  EXPECT_EQ(places(*with_states, ""), 1u) << "behind the system's message";
  EXPECT_EQ(places(*with_states, kMark), 2u);
  EXPECT_EQ(places(MakeEngine(), kMark), 0u) << "K and V are kept everywhere";
}

}  // namespace
}  // namespace skald::server
