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

HttpRequest Preflight(std::string origin, std::vector<HttpField> more = {}) {
  HttpRequest request = Get("/v1/models", {{"host", "localhost:8080"}, {"origin", origin}});
  request.method = "OPTIONS";
  request.fields.push_back({"access-control-request-method", "POST"});
  request.fields.insert(request.fields.end(), more.begin(), more.end());
  return request;
}

// "name: value" lines.
std::string Text(const std::vector<HttpField>& fields) {
  std::string text;
  for (const HttpField& field : fields) text += field.name + ": " + field.value + "\n";
  return text;
}

AccessRules WithOrigins(std::vector<std::string> origins) {
  AccessRules rules = WithKeys();
  rules.origins = std::move(origins);
  return rules;
}

TEST(Cors, LetsInWhoWasNamedAndTellsBrowsersSo) {
  const AccessRules rules = WithOrigins({"https://app.example", "http://app.example:8443"});
  for (const std::string origin : {"https://app.example", "http://app.example:8443"}) {
    const HttpRequest request =
        Get("/props", {{"host", "localhost"}, {"origin", origin}, {"x-api-key", "first-key"}});
    EXPECT_EQ(Refused(rules, request), 0);
    EXPECT_TRUE(IsPreflight(rules, Preflight(origin)));
    EXPECT_EQ(CheckPreflight(rules, Preflight(origin)).index(), 0u);
    EXPECT_TRUE(Text(CorsFields(rules, request))
                    .starts_with("vary: origin\naccess-control-allow-origin: " + origin + "\n"));
  }
  const AccessRules any = WithOrigins({"*"});
  EXPECT_TRUE(IsPreflight(any, Preflight("null")));
  EXPECT_NE(Text(CorsFields(any, Preflight("null"))).find("allow-origin: *\n"), std::string::npos);
}

TEST(Cors, ASiteThatWasNotNamedLearnsNothing) {
  const AccessRules rules = WithOrigins({"https://app.example"});
  for (const std::string origin :
       {"https://evil.example", "http://app.example", "https://app.example:8443", "null", "",
        "https://app.example.evil.example", "https://APP.example", "https://app.example/"}) {
    EXPECT_EQ(Refused(rules,
                      Get("/props",
                          {{"host", "localhost"}, {"origin", origin}, {"x-api-key", "first-key"}})),
              403)
        << origin;
    EXPECT_FALSE(IsPreflight(rules, Preflight(origin))) << origin;
    EXPECT_EQ(Text(CorsFields(rules, Preflight(origin))), "vary: origin\n");
  }
  EXPECT_FALSE(IsPreflight(Loopback(), Preflight("https://app.example")));
  EXPECT_TRUE(CorsFields(Loopback(), Preflight("https://app.example")).empty());
}

// Its name protects it from pages whose name is made to lead here (DNS rebinding), allowed or not.
TEST(Cors, AKeyAndTheHostAreWantedAllTheSame) {
  const AccessRules rules = WithOrigins({"*"});
  EXPECT_EQ(Refused(rules, Get("/props", {{"host", "localhost"}, {"origin", "https://a"}})), 401);
  HttpRequest elsewhere = Preflight("https://a");
  elsewhere.fields[0].value = "evil.example";
  EXPECT_EQ(std::get<ApiError>(CheckPreflight(rules, elsewhere)).status, 421);
}

TEST(Cors, APreflightHasNoBodyAndHearsItsOwnFieldNames) {
  const AccessRules rules = WithOrigins({"*"});
  EXPECT_FALSE(IsPreflight(rules, Preflight("https://a", {{"content-length", "7"}})));
  EXPECT_FALSE(IsPreflight(rules, Preflight("https://a", {{"transfer-encoding", "chunked"}})));
  const auto answer = [](const char* names) {
    return Text(AnswerPreflight(Preflight("https://a", {{"access-control-request-headers", names}}))
                    .fields);
  };
  const std::string common =
      "access-control-allow-methods: GET, HEAD, POST\naccess-control-max-age: 600\n";
  EXPECT_EQ(answer("authorization, x-stainless-os"),
            common + "access-control-allow-headers: authorization, x-stainless-os\n");
  EXPECT_EQ(answer("a: b"), common);
  EXPECT_EQ(common.find("credentials"), std::string::npos);
}

TEST(Cors, AnOriginHasASchemeAndAHost) {
  for (const char* good : {"*", "https://a.example", "http://localhost:3000", "app://x"}) {
    EXPECT_TRUE(CheckOrigin(good).ok()) << good;
  }
  for (const char* bad : {"", "null", "a.example", "https://", "://a", "https://a/", "https://A",
                          "https://*.a", "https://a,https://b", "https://u@a"}) {
    EXPECT_FALSE(CheckOrigin(bad).ok()) << bad;
  }
}

TEST(CheckAccess, WantsAKeyOnEveryRouteButProbesAndThePage) {
  const AccessRules rules = WithKeys();
  const HttpField host = {"host", "localhost"};
  for (const char* path : {"/livez", "/readyz", "/readyz?x", "/", "/console", "/console/chat.js"})
    EXPECT_EQ(Refused(rules, Get(path, {host})), 0) << path;
  for (const char* path : {"/health", "/metrics", "/v1/models", "/livez/", "/none", "/tokenize",
                           "/console/events", "/console/none"})
    EXPECT_EQ(Refused(rules, Get(path, {host})), 401) << path;
}

TEST(CheckAccess, KnowsWhoseKeyItIs) {
  const AccessRules rules = WithKeys();
  const HttpField host = {"host", "localhost"};
  const auto tenant = [&](const char* authorization) {
    const auto access =
        CheckAccess(rules, Get("/metrics", {host, {"authorization", authorization}}));
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
  EXPECT_EQ(Refused(rules, Get("/metrics", {host,
                                            {"authorization", "Bearer first-key"},
                                            {"authorization", "Bearer first-key"}})),
            401);
  EXPECT_EQ(Refused(rules, Get("/metrics",
                               {host, {"authorization", "Bearer " + std::string(10000, 'k')}})),
            401);
}

TEST(CheckAccess, TakesAnthropicsFieldButNotTwoKeys) {
  const AccessRules rules = WithKeys();
  const HttpField host = {"host", "localhost"};
  const HttpField key = {"x-api-key", "first-key"};
  EXPECT_EQ(Refused(rules, Get("/metrics", {host, key})), 0);
  EXPECT_EQ(Refused(rules, Get("/metrics", {host, {"x-api-key", "Bearer first-key"}})), 401);
  EXPECT_EQ(Refused(rules, Get("/metrics", {host, {"x-api-key", "other"}})), 401);
  EXPECT_EQ(Refused(rules, Get("/metrics", {host, key, key})), 401);
  EXPECT_EQ(Refused(rules, Get("/metrics", {host, key, {"authorization", "Bearer first-key"}})),
            401);
  // Who guesses by it guesses.
  EXPECT_TRUE(BringsKey(Get("/metrics", {host, {"x-api-key", "other"}})));
  EXPECT_TRUE(BringsKey(Get("/metrics", {host, {"authorization", "x"}})));
  EXPECT_FALSE(BringsKey(Get("/metrics", {host})));
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
