#include "server/router.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <string>

#include "server/activity.h"
#include "server/metrics.h"
#include "server/openapi.h"
#include "server/route_table.h"

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
       {"", "*", "/v1", "/v1/completions/", "//v1/completions", "/V1/completions", "/v1/../metrics",
        "/%6detrics", "/metrics%00", "/..%5cmetrics", "/v1/models/"})
    EXPECT_EQ(Refused("GET", path), 404) << path;
}

TEST(FindRoute, SaysWhatWasAskedForAndWhatThereIs) {
  const auto route = FindRoute("GET", "/v1/engines");
  const std::string message = std::get<ApiError>(route).message;
  EXPECT_TRUE(message.starts_with("there is no route GET /v1/engines; there are POST ")) << message;
  for (const char* path : {"/v1/chat/completions", "/v1/models", "/livez", "/slots"})
    EXPECT_NE(message.find(path), std::string::npos) << path;
  const auto long_one = FindRoute("GET", "/" + std::string(10'000, 'a'));
  EXPECT_LT(std::get<ApiError>(long_one).message.size(), 700u);
}

// What it says of routes is what the router finds: the one reads what the other is.
TEST(OpenApi, HasTheRoutesThatTheRouterFinds) {
  const boost::json::value document = boost::json::parse(OpenApiText("1.2.3"));
  EXPECT_EQ(document.at("info").at("version"), "1.2.3");
  const boost::json::object& paths = document.at("paths").as_object();
  EXPECT_EQ(paths.size(), RouteTable().size());
  for (const auto& path : paths) {
    const bool takes_body = path.value().as_object().contains("post");
    const auto route = FindRoute(takes_body ? "POST" : "GET", path.key());
    ASSERT_EQ(route.index(), 0u) << path.key();
    EXPECT_EQ(TakesBody(std::get<Route>(route)), takes_body) << path.key();
  }
}

// Every member "$ref" below.
void CollectReferences(const boost::json::value& value, std::set<std::string>* found) {
  if (const auto* list = value.if_array()) {
    for (const boost::json::value& each : *list) CollectReferences(each, found);
  }
  if (!value.is_object()) return;
  for (const auto& member : value.get_object()) {
    if (member.key() == "$ref") found->insert(std::string(member.value().as_string()));
    CollectReferences(member.value(), found);
  }
}

TEST(OpenApi, NamesTheSchemasThatThereAre) {
  const boost::json::value document = boost::json::parse(OpenApiText("1"));
  std::set<std::string> named;
  CollectReferences(document, &named);
  std::set<std::string> there;
  for (const auto& schema : document.at("components").at("schemas").as_object())
    there.insert("#/components/schemas/" + std::string(schema.key()));
  EXPECT_EQ(named, there);
  EXPECT_EQ(there.size(), OpenApiSchemas().size());
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

TEST(MetricsText, TellsEachTimeUnderItsOwnName) {
  EngineStats stats;
  stats.queue_seconds.Add(1);
  stats.ttft_seconds.Add(2);
  stats.tbt_seconds.Add(4);
  stats.step_seconds.Add(8);
  stats.e2e_seconds.Add(16);
  stats.inference_seconds.Add(32);
  stats.prefill_seconds.Add(64);
  stats.decode_seconds.Add(128);
  const std::string text = MetricsText({.stats = stats, .model_name = "m"});
  const auto sum = [&](const std::string& family, const std::string& labels) {
    const std::string line = "\n" + family + "_sum{model_name=\"m\"" + labels + "} ";
    const size_t at = text.find(line);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size(), 20));
  };
  EXPECT_EQ(sum("skald_queue_seconds", ""), 1);
  EXPECT_EQ(sum("skald_time_to_first_token_seconds", ""), 2);
  EXPECT_EQ(sum("skald_time_between_tokens_seconds", ""), 4);
  EXPECT_EQ(sum("skald_step_seconds", ""), 8);
  EXPECT_EQ(sum("skald_request_seconds", ""), 16);
  EXPECT_EQ(sum("skald_inference_seconds", ""), 32);
  EXPECT_EQ(sum("skald_prefill_seconds", ""), 64);
  EXPECT_EQ(sum("skald_decode_seconds", ""), 128);
  const std::string engine = ",engine=\"0\"";
  EXPECT_EQ(sum("vllm:request_queue_time_seconds", engine), 1);
  EXPECT_EQ(sum("vllm:time_to_first_token_seconds", engine), 2);
  EXPECT_EQ(sum("vllm:inter_token_latency_seconds", engine), 4);
  EXPECT_EQ(sum("vllm:time_per_output_token_seconds", engine), 4);
  EXPECT_EQ(sum("vllm:e2e_request_latency_seconds", engine), 16);
  EXPECT_EQ(sum("vllm:request_inference_time_seconds", engine), 32);
  EXPECT_EQ(sum("vllm:request_prefill_time_seconds", engine), 64);
  EXPECT_EQ(sum("vllm:request_decode_time_seconds", engine), 128);
}

TEST(MetricsText, TellsEachGaugeAndCounterUnderItsOwnName) {
  EngineStats stats;
  stats.running = 3;
  stats.waiting = 5;
  stats.pages_total = 100;
  stats.pages_free = 60;
  stats.pages_held = 25;
  stats.pages_cached = 15;
  stats.window_pages_total = 40;
  stats.window_pages_free = 22;
  stats.window_pages_held = 8;
  stats.window_pages_cached = 10;
  stats.window_pages_dropped = 33;
  stats.states_total = 21;
  stats.states_free = 12;
  stats.states_held = 4;
  stats.states_cached = 6;
  stats.states_copied = 17;
  stats.states_evicted = 9;
  stats.preemptions = 7;
  const std::string text = MetricsText(
      {.stats = stats, .model_name = "m", .connections = 11, .answers = {{200, 8}, {401, 2}}});
  for (const char* line : {"skald_sequences_running{model_name=\"m\"} 3\n",
                           "skald_sequences_waiting{model_name=\"m\"} 5\n",
                           "skald_pages{model_name=\"m\"} 100\n",
                           "skald_pages_free{model_name=\"m\"} 60\n",
                           "skald_pages_held{model_name=\"m\"} 25\n",
                           "skald_window_pages{model_name=\"m\"} 40\n",
                           "skald_window_pages_free{model_name=\"m\"} 22\n",
                           "skald_window_pages_held{model_name=\"m\"} 8\n",
                           "skald_window_pages_cached{model_name=\"m\"} 10\n",
                           "skald_window_pages_dropped_total{model_name=\"m\"} 33\n",
                           "skald_pages_cached{model_name=\"m\"} 15\n",
                           "skald_states{model_name=\"m\"} 21\n",
                           "skald_states_free{model_name=\"m\"} 12\n",
                           "skald_states_held{model_name=\"m\"} 4\n",
                           "skald_states_cached{model_name=\"m\"} 6\n",
                           "skald_states_copied_total{model_name=\"m\"} 17\n",
                           "skald_states_evicted_total{model_name=\"m\"} 9\n",
                           "skald_preemptions_total{model_name=\"m\"} 7\n",
                           "skald_connections{model_name=\"m\"} 11\n",
                           "skald_http_requests_total{model_name=\"m\"} 10\n",
                           "skald_http_answers_total{model_name=\"m\",status=\"200\"} 8\n",
                           "skald_http_answers_total{model_name=\"m\",status=\"401\"} 2\n",
                           "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 3\n",
                           "vllm:num_requests_waiting{model_name=\"m\",engine=\"0\"} 5\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
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
