#include "server/access_rules.h"

#include <algorithm>

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
  return request.Path() == "/livez" || request.Path() == "/readyz";
}

// "http://localhost:3000" -> "localhost:3000"
std::string_view OriginAuthority(std::string_view origin) {
  const size_t slashes = origin.find("://");
  return slashes == std::string_view::npos ? std::string_view() : origin.substr(slashes + 3);
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

OrError<std::shared_ptr<const Tenant>> CheckAccess(const AccessRules& rules,
                                                   const HttpRequest& request) {
  const std::string_view host = request.Field("host").value_or("");
  if (!rules.hosts.empty() && !IsOneOf(rules.hosts, host)) {
    return ApiError{.status = 421, .message = "this server is not what the Host field names"};
  }
  if (const auto origin = request.Field("origin")) {
    // A page that this server (or a server beside it) delivered names it as Host does.
    if (rules.hosts.empty() || !IsOneOf(rules.hosts, OriginAuthority(*origin)))
      return ApiError{.status = 403, .message = "web pages of other sites are not served"};
  }
  if (IsPublic(request)) return std::make_shared<const Tenant>();
  if (auto tenant = rules.keys->Find(KeyOf(request))) return tenant;
  return ApiError{
      .status = 401,
      .message = "this server needs an API key: Authorization: Bearer KEY, or x-api-key: KEY",
      .code = "invalid_api_key"};
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
