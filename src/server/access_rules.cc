#include "server/access_rules.h"

#include <algorithm>

#include "server/router.h"

namespace skald::server {

namespace {

// "localhost:8080" -> "localhost", "[::1]:8080" -> "[::1]". What is no host with a port or without
// stays as it is, and so is nobody's name: an address of IPv6 without brackets, "a:b", "a:80:80".
std::string_view WithoutPort(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos) return authority;
  const std::string_view host = authority.substr(0, colon);
  const std::string_view port = authority.substr(colon + 1);
  const bool is_port = port.size() <= 5 && std::all_of(port.begin(), port.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
  const bool is_host = host.starts_with('[') ? host.find(']') + 1 == host.size()
                                             : host.find(':') == std::string_view::npos;
  return is_port && is_host ? host : authority;
}

bool IsOneOf(const std::vector<std::string>& hosts, std::string_view authority) {
  return std::find(hosts.begin(), hosts.end(), LowerCase(WithoutPort(authority))) != hosts.end();
}

bool IsPublic(const HttpRequest& request) {
  const std::string_view path = request.Path();
  return path == "/livez" || path == "/readyz" || IsForEveryone(path);
}

// "http://localhost:3000" -> "localhost:3000"
std::string_view OriginAuthority(std::string_view origin) {
  const size_t slashes = origin.find("://");
  return slashes == std::string_view::npos ? std::string_view() : origin.substr(slashes + 3);
}

std::optional<ApiError> CheckHost(const AccessRules& rules, const HttpRequest& request) {
  if (rules.hosts.empty() || IsOneOf(rules.hosts, request.Field("host").value_or("")))
    return std::nullopt;
  return ApiError{.status = 421, .message = "this server is not what the Host field names"};
}

// Where no names were given, only keys let in, and a page of another site has none: there what
// calls itself the same as the server is its own page.
bool IsOwnOrigin(const AccessRules& rules, const HttpRequest& request, std::string_view authority) {
  if (rules.hosts.empty())
    return !rules.keys->empty() && !authority.empty() && authority == request.Field("host");
  return IsOneOf(rules.hosts, authority);
}

// Byte by byte: browsers write an origin in one way only.
bool IsAllowedOrigin(const AccessRules& rules, std::string_view origin) {
  return std::any_of(rules.origins.begin(), rules.origins.end(), [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

// Names of fields with commas, fit to be repeated.
bool IsFieldNames(std::string_view names) {
  return std::all_of(names.begin(), names.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == ',' || c == ' ';
  });
}

bool IsKeyField(const HttpField& field) {
  return field.name == "authorization" || field.name == "x-api-key";
}

// Of the one field that has it: who sends two could mean either.
std::string_view KeyOf(const HttpRequest& request) {
  if (std::count_if(request.fields.begin(), request.fields.end(), IsKeyField) > 1) return {};
  if (const auto field = request.Field("x-api-key")) return *field;
  if (const auto field = request.Field("authorization")) {
    constexpr std::string_view kScheme = "bearer ";
    if (LowerCase(field->substr(0, kScheme.size())) != kScheme) return {};
    return field->substr(kScheme.size());
  }
  return {};
}

}  // namespace

std::vector<std::string> LoopbackHosts() { return {"localhost", "127.0.0.1", "[::1]"}; }

bool BringsKey(const HttpRequest& request) {
  return std::any_of(request.fields.begin(), request.fields.end(), IsKeyField);
}

OrError<std::shared_ptr<const Tenant>> CheckPreflight(const AccessRules& rules,
                                                      const HttpRequest& request) {
  if (auto error = CheckHost(rules, request)) return *error;
  return std::make_shared<const Tenant>();
}

OrError<std::shared_ptr<const Tenant>> CheckAccess(const AccessRules& rules,
                                                   const HttpRequest& request) {
  if (auto error = CheckHost(rules, request)) return *error;
  if (const auto origin = request.Field("origin")) {
    // A page that this server (or a server beside it) delivered names it as Host does.
    const bool is_own = IsOwnOrigin(rules, request, OriginAuthority(*origin));
    if (!is_own && !IsAllowedOrigin(rules, *origin))
      return ApiError{.status = 403, .message = "web pages of other sites are not served"};
  }
  if (IsPublic(request)) return std::make_shared<const Tenant>();
  if (auto tenant = rules.keys->Find(KeyOf(request))) return tenant;
  return ApiError{
      .status = 401,
      .message = "this server needs an API key: Authorization: Bearer KEY, or x-api-key: KEY",
      .code = "invalid_api_key"};
}

Status CheckOrigin(std::string_view origin) {
  if (origin == "*") return Ok();
  const size_t scheme = origin.find("://");
  const std::string_view rest =
      scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
  const bool is_origin = scheme > 0 && !rest.empty() && origin == LowerCase(origin) &&
                         rest.find_first_of("/?#@*, ") == std::string_view::npos;
  if (is_origin) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                "allowed origin '" + std::string(origin) +
                    "': expected https://host or http://host:port in lower case and without a "
                    "path, or *");
}

bool IsPreflight(const AccessRules& rules, const HttpRequest& request) {
  const auto origin = request.Field("origin");
  // Nobody has shown a key yet: no body is read.
  return request.method == "OPTIONS" && origin && IsAllowedOrigin(rules, *origin) &&
         request.Field("access-control-request-method") &&
         request.Field("content-length").value_or("0") == "0" &&
         !request.Field("transfer-encoding");
}

std::vector<HttpField> CorsFields(const AccessRules& rules, const HttpRequest& request) {
  if (rules.origins.empty()) return {};
  // Who may read depends on who asks: caches must not mix them up, also without an origin.
  std::vector<HttpField> fields = {{"vary", "origin"}};
  const auto origin = request.Field("origin");
  if (!origin || !IsAllowedOrigin(rules, *origin)) return fields;
  const bool is_any =
      std::find(rules.origins.begin(), rules.origins.end(), "*") != rules.origins.end();
  fields.push_back({"access-control-allow-origin", is_any ? "*" : std::string(*origin)});
  fields.push_back({"access-control-expose-headers",
                    "x-request-id, x-skald-ignored-params, x-skald-warnings, retry-after"});
  return fields;
}

HttpResponse AnswerPreflight(const HttpRequest& request) {
  HttpResponse response = {.content_type = "text/plain"};
  response.fields = {{"access-control-allow-methods", "GET, HEAD, POST"},
                     {"access-control-max-age", "600"}};
  // Client libraries send fields of their own; what they say is not looked at.
  const auto asked = request.Field("access-control-request-headers");
  if (asked && IsFieldNames(*asked))
    response.fields.push_back({"access-control-allow-headers", std::string(*asked)});
  return response;
}

std::optional<ApiError> CheckContentType(const HttpRequest& request) {
  const std::string encoding = LowerCase(request.Field("content-encoding").value_or("identity"));
  if (encoding != "identity")
    return ApiError{.status = 415, .message = "the body must not be encoded"};
  const std::string type = LowerCase(request.Field("content-type").value_or(""));
  std::string_view media = std::string_view(type).substr(0, type.find(';'));
  while (media.ends_with(' ')) media.remove_suffix(1);
  const size_t charset = type.find("charset=");
  const bool is_utf8 =
      charset == std::string::npos || type.find("utf-8", charset) != std::string::npos;
  if (media == "application/json" && is_utf8) return std::nullopt;
  return ApiError{.status = 415,
                  .message = "the body must be JSON in UTF-8, and Content-Type must say so"};
}

}  // namespace skald::server
