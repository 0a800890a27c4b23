#include "server/access_rules.h"

#include <gtest/gtest.h>

#include <utility>

namespace skald::server {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef";

HttpRequest Get(std::string target, std::vector<HttpField> fields) {
  HttpRequest request;
  request.method = "GET";
  request.target = std::move(target);
  request.fields = std::move(fields);
  return request;
}

AccessRules Loopback() {
  return {.keys = std::make_shared<ApiKeys>(kSecret), .hosts = LoopbackHosts()};
}

AccessRules WithKeys() {
  return {.keys = std::make_shared<ApiKeys>(
              *ApiKeys::Parse("# two\nfirst-key\n\nsecond-key name=second share=3\r\n", kSecret)),
          .hosts = LoopbackHosts()};
}

// The status, or 0 if it is let in.
int Refused(const AccessRules& rules, const HttpRequest& request) {
  const auto access = CheckAccess(rules, request);
  const auto* error = std::get_if<ApiError>(&access);
  return error == nullptr ? 0 : error->status;
}

TEST(CheckAccess, AnswersOnThisMachineOnlyWhoNamesItSo) {
  const AccessRules rules = Loopback();
  for (const char* host :
       {"localhost", "localhost:8080", "127.0.0.1:1", "[::1]", "[::1]:8080", "LOCALHOST:8080"}) {
    EXPECT_EQ(Refused(rules, Get("/props", {{"host", host}})), 0) << host;
  }
  for (const char* host :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "", "127.0.0.1.evil.example",
        "10.0.0.1", "localhost:x@evil", "localhost:8080:80", "localhost:123456", "::1", "[::1",
        "[::1]x:80", "::1]:80"}) {
    EXPECT_EQ(Refused(rules, Get("/props", {{"host", host}})), 421) << host;
  }
  EXPECT_EQ(Refused({.keys = std::make_shared<ApiKeys>(kSecret), .hosts = {}},
                    Get("/", {{"host", "any"}})),
            0);
}

TEST(CheckAccess, RefusesPagesOfOtherSites) {
  const auto with_origin = [](const char* origin) {
    return Get("/livez", {{"host", "localhost:8080"}, {"origin", origin}});
  };
  EXPECT_EQ(Refused(Loopback(), with_origin("http://localhost:8080")), 0);
  EXPECT_EQ(Refused(Loopback(), with_origin("http://[::1]")), 0);
  EXPECT_EQ(Refused(Loopback(), with_origin("http://[::1]:8080")), 0);
  EXPECT_EQ(Refused(Loopback(), with_origin("http://localhost:80@evil.example")), 403);
  EXPECT_EQ(Refused(Loopback(), with_origin("http://localhost:evil.example")), 403);
  EXPECT_EQ(Refused(Loopback(), with_origin("https://evil.example")), 403);
  EXPECT_EQ(Refused(Loopback(), with_origin("null")), 403);
  EXPECT_EQ(Refused({.keys = std::make_shared<ApiKeys>(kSecret), .hosts = {}},
                    with_origin("http://localhost")),
            403);
}

TEST(CheckAccess, WantsAKeyOnEveryRouteButTwo) {
  const AccessRules rules = WithKeys();
  const HttpField host = {"host", "localhost"};
  for (const char* path : {"/livez", "/readyz", "/readyz?x"})
    EXPECT_EQ(Refused(rules, Get(path, {host})), 0) << path;
  for (const char* path : {"/health", "/metrics", "/v1/models", "/livez/", "/none", "/tokenize"})
    EXPECT_EQ(Refused(rules, Get(path, {host})), 401) << path;
}

TEST(CheckAccess, KnowsWhoseKeyItIs) {
  const AccessRules rules = WithKeys();
  const HttpField host = {"host", "localhost"};
  const auto tenant = [&](const char* authorization) {
    const auto access = CheckAccess(rules, Get("/", {host, {"authorization", authorization}}));
    const auto* found = std::get_if<std::shared_ptr<const Tenant>>(&access);
    return found == nullptr ? std::string("none") : (*found)->name;
  };
  EXPECT_EQ(tenant("Bearer first-key"), "line-2");
  EXPECT_EQ(tenant("bearer second-key"), "second");
  for (const char* wrong :
       {"", "Bearer", "Bearer ", "first-key", "Basic first-key", "Bearer first-ke",
        "Bearer first-key ", "Bearer first-keys", "Bearer # two"}) {
    EXPECT_EQ(tenant(wrong), "none") << wrong;
  }
  EXPECT_EQ(Refused(rules, Get("/", {host,
                                     {"authorization", "Bearer first-key"},
                                     {"authorization", "Bearer first-key"}})),
            401);
  EXPECT_EQ(
      Refused(rules, Get("/", {host, {"authorization", "Bearer " + std::string(10000, 'k')}})),
      401);
}

TEST(CheckAccess, TakesAnthropicsFieldButNotTwoKeys) {
  const AccessRules rules = WithKeys();
  const HttpField host = {"host", "localhost"};
  const HttpField key = {"x-api-key", "first-key"};
  EXPECT_EQ(Refused(rules, Get("/", {host, key})), 0);
  EXPECT_EQ(Refused(rules, Get("/", {host, {"x-api-key", "Bearer first-key"}})), 401);
  EXPECT_EQ(Refused(rules, Get("/", {host, {"x-api-key", "other"}})), 401);
  EXPECT_EQ(Refused(rules, Get("/", {host, key, key})), 401);
  EXPECT_EQ(Refused(rules, Get("/", {host, key, {"authorization", "Bearer first-key"}})), 401);
  // Who guesses by it guesses.
  EXPECT_TRUE(BringsKey(Get("/", {host, {"x-api-key", "other"}})));
  EXPECT_TRUE(BringsKey(Get("/", {host, {"authorization", "x"}})));
  EXPECT_FALSE(BringsKey(Get("/", {host})));
}

TEST(CheckContentType, TakesJsonInUtf8Only) {
  const auto taken = [](std::vector<HttpField> fields) {
    return !CheckContentType(Get("/", std::move(fields))).has_value();
  };
  EXPECT_TRUE(taken({{"content-type", "application/json"}}));
  EXPECT_TRUE(taken({{"content-type", "Application/JSON ; charset=UTF-8"}}));
  EXPECT_FALSE(taken({}));
  EXPECT_FALSE(taken({{"content-type", "text/plain"}}));
  EXPECT_FALSE(taken({{"content-type", "application/json; charset=utf-16"}}));
  EXPECT_FALSE(taken({{"content-type", "multipart/form-data"}}));
  EXPECT_FALSE(taken({{"content-type", "application/json"}, {"content-encoding", "gzip"}}));
}

}  // namespace
}  // namespace skald::server
