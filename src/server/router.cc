#include "server/router.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/route_table.h"

namespace skald::server {

namespace {

constexpr std::string_view kModelPrefix = "/v1/models/";

bool IsAt(const RouteRow& row, std::string_view path) {
  if (row.route != Route::kModel) return row.path == path;
  return path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size();
}

const RouteRow* Find(std::string_view path) {
  const auto table = RouteTable();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const RouteRow& row) { return IsAt(row, path); });
  return found == table.end() ? nullptr : &*found;
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
    for (const RouteRow& row : RouteTable()) {
      if ((row.body == RouteBody::kJson) != with_body) continue;
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

bool TakesBody(Route route) { return RowOf(route).body == RouteBody::kJson; }

bool IsForAdmins(Route route) { return RowOf(route).audience == Audience::kAdmins; }

bool IsForMonitors(Route route) {
  const Audience audience = RowOf(route).audience;
  return audience == Audience::kMonitors || audience == Audience::kAdmins;
}

bool IsForEveryone(std::string_view path) {
  const RouteRow* row = Find(path);
  return row != nullptr && row->audience == Audience::kAnybody;
}

OrError<Route> FindRoute(std::string_view method, std::string_view path) {
  const RouteRow* row = Find(path);
  if (ManagesModels(path))
    return ApiError{.message =
                        "this server has the one model that it was started with: it pulls, "
                        "makes and removes none (skald pull does, on its machine)",
                    .code = "unsupported_route"};
  if (row == nullptr) return NoSuchRoute(method, path);
  const bool takes_body = row->body == RouteBody::kJson;
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
