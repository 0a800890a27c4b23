#include "server/router.h"

#include <algorithm>
#include <array>
#include <utility>

namespace skald::server {

namespace {

struct Entry {
  std::string_view path;
  Route route;
};

constexpr auto kRoutes = std::to_array<Entry>({
    {"/v1/chat/completions", Route::kChatCompletions},
    {"/v1/completions", Route::kCompletions},
    {"/v1/embeddings", Route::kEmbeddings},
    {"/v1/models", Route::kModels},
    {"/tokenize", Route::kTokenize},
    {"/detokenize", Route::kDetokenize},
    {"/health", Route::kHealth},
    {"/livez", Route::kLive},
    {"/readyz", Route::kReady},
    {"/metrics", Route::kMetrics},
    {"/version", Route::kVersion},
    {"/props", Route::kProps},
    {"/slots", Route::kSlots},
});

constexpr std::string_view kModelPrefix = "/v1/models/";

const Route* Find(std::string_view path) {
  static constexpr Route kModel = Route::kModel;
  const auto found = std::find_if(kRoutes.begin(), kRoutes.end(),
                                  [&](const Entry& entry) { return entry.path == path; });
  if (found != kRoutes.end()) return &found->route;
  return path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size() ? &kModel : nullptr;
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
    for (const Entry& entry : kRoutes) {
      if (TakesBody(entry.route) != with_body) continue;
      message += std::exchange(before, ", ");
      message += entry.path;
    }
  };
  add_all(true);
  message += " and GET";
  add_all(false);
  return {.status = 404, .message = std::move(message), .code = "unknown_url"};
}

}  // namespace

bool TakesBody(Route route) {
  switch (route) {
    case Route::kChatCompletions:
    case Route::kCompletions:
    case Route::kEmbeddings:
    case Route::kTokenize:
    case Route::kDetokenize: return true;
    default: return false;
  }
}

bool IsForAdmins(Route route) { return route == Route::kMetrics; }

bool IsForMonitors(Route route) {
  switch (route) {
    case Route::kHealth:
    case Route::kLive:
    case Route::kReady:
    case Route::kMetrics:
    case Route::kVersion:
    case Route::kSlots: return true;
    default: return false;
  }
}

OrError<Route> FindRoute(std::string_view method, std::string_view path) {
  const Route* route = Find(path);
  if (route == nullptr) return NoSuchRoute(method, path);
  const bool fits = TakesBody(*route) ? method == "POST" : method == "GET" || method == "HEAD";
  if (fits) return *route;
  return ApiError{
      .status = 405,
      .message = std::string("this route takes ") + (TakesBody(*route) ? "POST" : "GET and HEAD")};
}

std::string_view ModelIdOf(std::string_view path) { return path.substr(kModelPrefix.size()); }

}  // namespace skald::server
