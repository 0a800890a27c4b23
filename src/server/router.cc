#include "server/router.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace skald::server {

namespace {

enum class Body : uint8_t { kNone, kJson };
// Who may ask, beside those with a key.
enum class Audience : uint8_t {
  kClients,
  kMonitors,  // and at the door for administrators
  kAdmins,    // there, and with the right admin only
};

struct Row {
  std::string_view path;
  Route route;
  Body body;
  Audience audience = Audience::kClients;
};

constexpr auto kRoutes = std::to_array<Row>({
    {"/v1/chat/completions", Route::kChatCompletions, Body::kJson},
    {"/v1/completions", Route::kCompletions, Body::kJson},
    {"/v1/embeddings", Route::kEmbeddings, Body::kJson},
    {"/v1/rerank", Route::kRerank, Body::kJson},
    {"/v2/rerank", Route::kRerank, Body::kJson},
    {"/rerank", Route::kRerank, Body::kJson},
    {"/v1/score", Route::kScore, Body::kJson},
    {"/score", Route::kScore, Body::kJson},
    {"/v1/responses", Route::kResponses, Body::kJson},
    {"/v1/messages", Route::kMessages, Body::kJson},
    {"/v1/messages/count_tokens", Route::kCountTokens, Body::kJson},
    {"/v1/models", Route::kModels, Body::kNone},
    {"/api/chat", Route::kOllamaChat, Body::kJson},
    {"/api/generate", Route::kOllamaGenerate, Body::kJson},
    {"/api/show", Route::kOllamaShow, Body::kJson},
    {"/api/tags", Route::kOllamaTags, Body::kNone},
    {"/api/ps", Route::kOllamaPs, Body::kNone},
    {"/api/version", Route::kOllamaVersion, Body::kNone},
    {"/tokenize", Route::kTokenize, Body::kJson},
    {"/detokenize", Route::kDetokenize, Body::kJson},
    {"/health", Route::kHealth, Body::kNone, Audience::kMonitors},
    {"/livez", Route::kLive, Body::kNone, Audience::kMonitors},
    {"/readyz", Route::kReady, Body::kNone, Audience::kMonitors},
    {"/metrics", Route::kMetrics, Body::kNone, Audience::kAdmins},
    {"/version", Route::kVersion, Body::kNone, Audience::kMonitors},
    {"/props", Route::kProps, Body::kNone},
    {"/slots", Route::kSlots, Body::kNone, Audience::kMonitors},
});
constexpr Row kModelRow = {"/v1/models/{id}", Route::kModel, Body::kNone};

constexpr std::string_view kModelPrefix = "/v1/models/";

const Row* Find(std::string_view path) {
  const auto found = std::find_if(kRoutes.begin(), kRoutes.end(),
                                  [&](const Row& row) { return row.path == path; });
  if (found != kRoutes.end()) return &*found;
  return path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size() ? &kModelRow : nullptr;
}

const Row& RowOf(Route route) {
  const auto found = std::find_if(kRoutes.begin(), kRoutes.end(),
                                  [&](const Row& row) { return row.route == route; });
  return found == kRoutes.end() ? kModelRow : *found;
}

// What of Ollama's is about models that come and go.
bool ManagesModels(std::string_view path) {
  constexpr std::string_view kPaths[] = {"/api/pull", "/api/push", "/api/create", "/api/copy",
                                         "/api/delete"};
  return std::find(std::begin(kPaths), std::end(kPaths), path) != std::end(kPaths) ||
         path.starts_with("/api/blobs/");
}

// What was asked for, as far as it is fit to be shown, and what there is.
ApiError NoSuchRoute(std::string_view method, std::string_view path) {
  constexpr size_t kShownBytes = 80;
  std::string message = "there is no route " + std::string(method.substr(0, kShownBytes)) + ' ' +
                        std::string(path.substr(0, kShownBytes));
  if (path.size() > kShownBytes) message += "...";
  message += "; there are POST";
  const auto add_all = [&](bool with_body) {
    const char* before = " ";
    for (const Row& row : kRoutes) {
      if ((row.body == Body::kJson) != with_body) continue;
      message += std::exchange(before, ", ");
      message += row.path;
    }
  };
  add_all(true);
  message += " and GET";
  add_all(false);
  return {.status = 404, .message = std::move(message), .code = "unknown_url"};
}

}  // namespace

bool TakesBody(Route route) { return RowOf(route).body == Body::kJson; }

bool IsForAdmins(Route route) { return RowOf(route).audience == Audience::kAdmins; }

bool IsForMonitors(Route route) { return RowOf(route).audience != Audience::kClients; }

OrError<Route> FindRoute(std::string_view method, std::string_view path) {
  const Row* row = Find(path);
  if (ManagesModels(path))
    return ApiError{.message =
                        "this server has the one model that it was started with: it pulls, "
                        "makes and removes none (skald pull does, on its machine)",
                    .code = "unsupported_route"};
  if (row == nullptr) return NoSuchRoute(method, path);
  const bool takes_body = row->body == Body::kJson;
  const bool fits = takes_body ? method == "POST" : method == "GET" || method == "HEAD";
  if (fits) return row->route;
  return ApiError{
      .status = 405,
      .message = std::string("this route takes ") + (takes_body ? "POST" : "GET and HEAD")};
}

ErrorForm ErrorFormOf(std::string_view path) {
  constexpr std::string_view kMessages = "/v1/messages";
  const bool is_anthropic =
      path == kMessages || (path.starts_with(kMessages) && path[kMessages.size()] == '/');
  if (path.starts_with("/api/")) return ErrorForm::kOllama;
  return is_anthropic ? ErrorForm::kAnthropic : ErrorForm::kOpenAi;
}

std::string_view ModelIdOf(std::string_view path) { return path.substr(kModelPrefix.size()); }

}  // namespace skald::server
