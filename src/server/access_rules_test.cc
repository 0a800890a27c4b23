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

AccessRules Loopback() { return {.keys = ApiKeys(kSecret), .hosts = LoopbackHosts()}; }

AccessRules WithKeys() {
  return {.keys = *ApiKeys::Parse("# two\nfirst-key\n\nsecond-key\r\n", kSecret),
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
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example", "",
                           "127.0.0.1.evil.example", "10.0.0.1"}) {
    EXPECT_EQ(Refused(rules, Get("/props", {{"host", host}})), 421) << host;
  }
  EXPECT_EQ(Refused({.keys = ApiKeys(kSecret), .hosts = {}}, Get("/", {{"host", "any"}})), 0);
}

TEST(CheckAccess, RefusesPagesOfOtherSites) {
  const auto with_origin = [](const char* origin) {
    return Get("/livez", {{"host", "localhost:8080"}, {"origin", origin}});
  };
  EXPECT_EQ(Refused(Loopback(), with_origin("http://localhost:8080")), 0);
  EXPECT_EQ(Refused(Loopback(), with_origin("https://evil.example")), 403);
  EXPECT_EQ(Refused(Loopback(), with_origin("null")), 403);
  EXPECT_EQ(Refused({.keys = ApiKeys(kSecret), .hosts = {}}, with_origin("http://localhost")), 403);
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
    const auto* id = std::get_if<TenantId>(&access);
    return id == nullptr ? TenantId{-2} : *id;
  };
  EXPECT_EQ(tenant("Bearer first-key"), 0);
  EXPECT_EQ(tenant("bearer second-key"), 1);
  for (const char* wrong :
       {"", "Bearer", "Bearer ", "first-key", "Basic first-key", "Bearer first-ke",
        "Bearer first-key ", "Bearer first-keys", "Bearer # two"}) {
    EXPECT_EQ(tenant(wrong), -2) << wrong;
  }
  EXPECT_EQ(Refused(rules, Get("/", {host,
                                     {"authorization", "Bearer first-key"},
                                     {"authorization", "Bearer first-key"}})),
            401);
  EXPECT_EQ(
      Refused(rules, Get("/", {host, {"authorization", "Bearer " + std::string(10000, 'k')}})),
      401);
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

TEST(ApiKeys, RefusesAFileThatIsNone) {
  for (const char* lines :
       {"", "# only a remark\n", "short\n", "with blank in it\n", "tab\tkey12\n"})
    EXPECT_FALSE(ApiKeys::Parse(lines, kSecret).ok()) << lines;
  EXPECT_EQ(ApiKeys::Parse("12345678\nabcdefgh", kSecret)->size(), 2u);
}

TEST(ApiKeys, GivesEachTenantAndSaltANamespaceOfItsOwn) {
  const ApiKeys keys(kSecret);
  const uint64_t base = keys.CacheNamespace(0, "");
  EXPECT_EQ(base, keys.CacheNamespace(0, ""));
  EXPECT_NE(base, keys.CacheNamespace(1, ""));
  EXPECT_NE(base, keys.CacheNamespace(kEveryone, ""));
  EXPECT_NE(base, keys.CacheNamespace(0, "s"));
  EXPECT_NE(keys.CacheNamespace(0, "s"), keys.CacheNamespace(1, "s"));
  EXPECT_NE(base, ApiKeys("another secret..").CacheNamespace(0, ""));
}

}  // namespace
}  // namespace skald::server
