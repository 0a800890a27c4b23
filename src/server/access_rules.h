/// AccessRules: who may speak to this server, decided from the head of a request alone.
///
/// Deny by default: every route needs a key (if there are keys) but /livez, /readyz and the files
/// of the console, which are the same for everybody. A server
/// that listens on the machine itself answers only requests that name it so (Host), and none that a
/// web page of somebody else's made (Origin): a browser on this machine must not be a way in (DNS
/// rebinding). Pages of origins that were named at the start (--allowed-origin) are let in, and
/// told so by CORS fields; without the option there are none of these. Never with credentials: keys
/// come in a field of their own, and a browser adds nothing by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/api_keys.h"
#include "server/http_message.h"
#include "skald/status.h"

namespace skald::server {

/// Where a request came in.
enum class Door : uint8_t {
  kPublic,
  kAdmin,  ///< an address of this machine for monitors, without keys (--admin-listen)
};

/// See above.
struct AccessRules {
  /// Never null. Others may hold it when it is replaced.
  std::shared_ptr<const ApiKeys> keys;
  /// Names that Host may give, without port. Empty: any.
  std::vector<std::string> hosts;
  /// Of pages that may ask, as browsers write them ("https://app.example:8443"), or "*": of all.
  std::vector<std::string> origins = {};
};

/// OK for "*" and for a scheme, a host and perhaps a port, which is all that an origin has.
Status CheckOrigin(std::string_view origin);

/// CheckAccess of a preflight: everybody, or 421 (Host). Requires IsPreflight.
OrError<std::shared_ptr<const Tenant>> CheckPreflight(const AccessRules& rules,
                                                      const HttpRequest& request);

/// Whether a browser asks what a page may ask: OPTIONS without a body, of an allowed origin.
bool IsPreflight(const AccessRules& rules, const HttpRequest& request);

/// What every answer tells a browser about who may read it; none if there is no allowed origin.
std::vector<HttpField> CorsFields(const AccessRules& rules, const HttpRequest& request);

/// The answer to a preflight, beside CorsFields. Requires IsPreflight.
HttpResponse AnswerPreflight(const HttpRequest& request);

/// "localhost", "127.0.0.1", "[::1]": the names of this machine for itself.
std::vector<std::string> LoopbackHosts();

/// Whether there is a key, right or wrong: in Authorization (Bearer) or, as Anthropic's clients
/// send it, in x-api-key.
bool BringsKey(const HttpRequest& request);

/// Who asks (never null), or why it is not served: 401, 403 (Origin), 421 (Host).
OrError<std::shared_ptr<const Tenant>> CheckAccess(const AccessRules& rules,
                                                   const HttpRequest& request);

/// What must hold of a request with a body of ours: JSON, not encoded. 415 if not.
std::optional<ApiError> CheckContentType(const HttpRequest& request);

}  // namespace skald::server
