#include "base/host_port.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

TEST(HostPort, TakesAHostAndAPort) {
  for (const char* text : {"node-1:7000", "10.0.0.1:7000", "x:0", "[::1]:65535"}) {
    const auto place = ParseHostPort(text);
    ASSERT_TRUE(place) << text;
    const std::string host = place->has_brackets ? "[" + place->host + "]" : place->host;
    EXPECT_EQ(host + ":" + std::to_string(place->port), text);
  }
}

TEST(HostPort, RefusesEverythingElse) {
  for (const char* text : {"", ":", "node", "node:", ":7000", "node:70000", "node:-1", "node:7x",
                           "node: 7", "node:+7", "::1:7000", "[]:7", "[::1]", "[::1]7"}) {
    EXPECT_FALSE(ParseHostPort(text)) << text;
  }
}

}  // namespace
}  // namespace skald
