#include "server/router.h"

#include <gtest/gtest.h>

#include "server/activity.h"
#include "server/metrics.h"

namespace skald::server {
namespace {

int Refused(std::string_view method, std::string_view path) {
  const auto route = FindRoute(method, path);
  const auto* error = std::get_if<ApiError>(&route);
  return error == nullptr ? 0 : error->status;
}

TEST(FindRoute, KnowsItsRoutes) {
  EXPECT_EQ(std::get<Route>(FindRoute("POST", "/v1/completions")), Route::kCompletions);
  EXPECT_EQ(std::get<Route>(FindRoute("GET", "/v1/models")), Route::kModels);
  EXPECT_EQ(std::get<Route>(FindRoute("HEAD", "/livez")), Route::kLive);
  EXPECT_EQ(std::get<Route>(FindRoute("GET", "/v1/models/a/b")), Route::kModel);
  EXPECT_EQ(ModelIdOf("/v1/models/a/b"), "a/b");
}

TEST(FindRoute, RefusesOtherMethods) {
  for (const char* method : {"GET", "HEAD", "PUT", "OPTIONS", "TRACE", "CONNECT", "post"})
    EXPECT_EQ(Refused(method, "/v1/completions"), 405) << method;
  for (const char* method : {"POST", "DELETE", "FOO"})
    EXPECT_EQ(Refused(method, "/v1/models"), 405) << method;
}

TEST(FindRoute, ComparesPathsAsTheyAre) {
  for (const char* path :
       {"/", "", "*", "/v1", "/v1/completions/", "//v1/completions", "/V1/completions",
        "/v1/../metrics", "/%6detrics", "/metrics%00", "/..%5cmetrics", "/v1/models/"})
    EXPECT_EQ(Refused("GET", path), 404) << path;
}

TEST(FindRoute, SaysWhatWasAskedForAndWhatThereIs) {
  const auto route = FindRoute("GET", "/v1/engines");
  const std::string message = std::get<ApiError>(route).message;
  EXPECT_TRUE(message.starts_with("there is no route GET /v1/engines; there are POST ")) << message;
  for (const char* path : {"/v1/chat/completions", "/v1/models", "/livez", "/slots"})
    EXPECT_NE(message.find(path), std::string::npos) << path;
  const auto long_one = FindRoute("GET", "/" + std::string(10'000, 'a'));
  EXPECT_LT(std::get<ApiError>(long_one).message.size(), 600u);
}

TEST(MetricsText, WritesEachFamilyOnceWithItsLines) {
  EngineStats stats;
  stats.prompt_tokens = 12;
  stats.draft_tokens = 9;
  stats.draft_tokens_accepted = 7;
  stats.pages_total = 8;
  stats.pages_held = 2;
  stats.ttft_seconds.Add(0.5);
  stats.finished[static_cast<size_t>(FinishReason::kStop)] = 3;
  stats.finished[static_cast<size_t>(FinishReason::kCancelled)] = 4;
  stats.finished[static_cast<size_t>(FinishReason::kDeadline)] = 5;
  stats.e2e_seconds.Add(1);
  const std::string text = MetricsText({.stats = stats, .model_name = "a\"b"});
  for (const char* line :
       {"skald_prompt_tokens_total{model_name=\"a\\\"b\"} 12\n",
        "vllm:prompt_tokens_total{model_name=\"a\\\"b\",engine=\"0\"} 12\n",
        "vllm:spec_decode_num_draft_tokens_total{model_name=\"a\\\"b\",engine=\"0\"} 9\n",
        "vllm:spec_decode_num_accepted_tokens_total{model_name=\"a\\\"b\",engine=\"0\"} 7\n",
        "vllm:kv_cache_usage_perc{model_name=\"a\\\"b\",engine=\"0\"} 0.25\n",
        "vllm:request_success_total{model_name=\"a\\\"b\",engine=\"0\",finished_reason=\"abort\"} "
        "9\n",
        "vllm:request_success_total{model_name=\"a\\\"b\",engine=\"0\",finished_reason=\"stop\"} "
        "3\n",
        "vllm:e2e_request_latency_seconds_count{model_name=\"a\\\"b\",engine=\"0\"} 1\n",
        "skald_requests_finished_total{model_name=\"a\\\"b\",reason=\"stop\"} 3\n",
        "vllm:cache_config_info{model_name=\"a\\\"b\",engine=\"0\",block_size=\"32\",num_gpu_"
        "blocks=\"8\"} 1\n",
        "skald_time_to_first_token_seconds_bucket{model_name=\"a\\\"b\",le=\"+Inf\"} 1\n",
        "skald_time_to_first_token_seconds_sum{model_name=\"a\\\"b\"} 0.5\n",
        "# TYPE vllm:num_requests_running gauge\n"}) {
    const size_t first = text.find(line);
    EXPECT_NE(first, std::string::npos) << line;
    EXPECT_EQ(text.find(line, first + 1), std::string::npos) << line;
  }
}

TEST(Activity, CallsTheEngineStalledIfItDoesNothingWhileItIsWaitedFor) {
  Activity activity;
  const auto stalled = [&](uint64_t progress, double now) {
    activity.Look(progress, now);
    return activity.EngineStalled();
  };
  EXPECT_FALSE(stalled(7, 1000));
  EXPECT_FALSE(stalled(7, 1100));  // nobody waits
  activity.Begin();
  EXPECT_FALSE(stalled(7, 2000));  // the wait begins now
  EXPECT_FALSE(stalled(7, 2001));
  EXPECT_TRUE(stalled(7, 2002));
  EXPECT_FALSE(stalled(8, 2004));
  EXPECT_FALSE(stalled(8, 3000));  // nobody looked for long: the process was stopped
  EXPECT_TRUE(stalled(8, 3001));
  activity.End();
  EXPECT_FALSE(stalled(8, 3002));
}

}  // namespace
}  // namespace skald::server
