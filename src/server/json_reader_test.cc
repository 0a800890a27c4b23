#include "server/json_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::server {
namespace {

std::string Repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// The message, or "" if it was taken.
std::string Refusal(std::string_view text) {
  const auto read = ReadJson(text);
  const auto* error = std::get_if<ApiError>(&read);
  return error == nullptr ? std::string() : error->message;
}

TEST(ReadJson, TakesWhatIsJson) {
  for (const std::string_view text :
       {"null", "[]", " {} ", R"({"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null]})", "\"\\u0000\"",
        R"({"a":1,"b":{"a":1}})", "18446744073709551615"}) {
    EXPECT_EQ(Refusal(text), "") << text;
  }
}

TEST(ReadJson, RefusesWhatIsNot) {
  for (const std::string_view text :
       {"", "{", "[1,]", "{\"a\" 1}", "nul", "NaN", "[Infinity]", "01", "\"\xFF\"", "\"\xC0\x80\"",
        "\"\\ud800\"", "\"\\udc00\\ud800\"", "{} x", "'a'", "// c\n1", "\"a\nb\"", "\xEF\xBB\xBF{}",
        "1e999", "[-1e999]"}) {
    EXPECT_NE(Refusal(text), "") << text;
  }
}

TEST(ReadJson, RefusesNamesThatStandTwice) {
  EXPECT_NE(Refusal(R"({"a":1,"b":2,"a":3})").find("'a' stands twice"), std::string::npos);
  EXPECT_NE(Refusal(R"({"x":{"b":1,"\u0062":2}})").find("'b' stands twice"), std::string::npos);
}

TEST(ReadJson, BoundsDepthAndNumberOfValues) {
  EXPECT_EQ(Refusal(Repeated("[", 64) + Repeated("]", 64)), "");
  EXPECT_NE(Refusal(Repeated("[", 65) + Repeated("]", 65)), "");
  EXPECT_NE(Refusal(Repeated("[", 1000000)), "");
  EXPECT_EQ(Refusal("[" + Repeated("0,", kJsonValues - 2) + "0]"), "");
  EXPECT_NE(Refusal("[" + Repeated("0,", kJsonValues - 1) + "0]"), "");
}

}  // namespace
}  // namespace skald::server
