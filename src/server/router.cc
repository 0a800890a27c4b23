#include "server/router.h"

#include <algorithm>
#include <array>

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

OrError<Route> FindRoute(std::string_view method, std::string_view path) {
  const Route* route = Find(path);
  if (route == nullptr) return ApiError{.status = 404, .message = "there is no such route"};
  const bool fits = TakesBody(*route) ? method == "POST" : method == "GET" || method == "HEAD";
  if (fits) return *route;
  return ApiError{
      .status = 405,
      .message = std::string("this route takes ") + (TakesBody(*route) ? "POST" : "GET and HEAD")};
}

std::string_view ModelIdOf(std::string_view path) { return path.substr(kModelPrefix.size()); }

}  // namespace skald::server
