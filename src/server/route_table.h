/// The table of routes: what the server has, who may ask for it, and what it takes and gives. The
/// router finds in it, and /openapi.json is written from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "server/router.h"

namespace skald::server {

enum class RouteBody : uint8_t { kNone, kJson };

/// Who may ask, beside those with a key.
enum class Audience : uint8_t {
  kAnybody,  ///< what is the same for everybody: pages
  kClients,
  kMonitors,  ///< and at the door for administrators
  kAdmins,    ///< there, and with the right admin only
};

/// A row. `request` and `answer` are names of schemas (openapi.h). An answer without one is text,
/// or of the media type `media`.
struct RouteRow {
  std::string_view path;
  Route route;
  RouteBody body;
  std::string_view summary;
  std::string_view request = {};
  std::string_view answer = {};
  std::string_view stream = {};  ///< the media type of a streamed answer, if it can be streamed
  Audience audience = Audience::kClients;
  std::string_view media = "text/plain";
};

/// All of them, each path once. "{id}" at the end of a path stands for anything.
std::span<const RouteRow> RouteTable();
/// That of a route, the first of several.
const RouteRow& RowOf(Route route);

}  // namespace skald::server
