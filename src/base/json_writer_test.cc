#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace skald {
namespace {

std::string QuotedForm(std::string_view text) { return JsonWriter().String(text).Take(); }
std::string DoubleForm(double number) { return JsonWriter().Double(number).Take(); }

TEST(JsonWriter, PutsCommasBetweenMembersAndElementsOnly) {
  JsonWriter json;
  json.BeginObject();
  json.Key("a").Int(1);
  json.Key("b").BeginArray().Int(1).BeginArray().EndArray().Int(3).EndArray();
  json.Key("c").BeginObject().EndObject();
  json.Key("d").Null();
  json.EndObject();
  EXPECT_EQ(json.Take(), R"({"a":1,"b":[1,[],3],"c":{},"d":null})");
}

TEST(JsonWriter, TakesValuesThatAreJsonAlready) {
  JsonWriter json;
  json.BeginObject().Key("a").Json("{\"b\": 1}").Key("c").BeginArray().Json("2").Json("null");
  json.EndArray().EndObject();
  EXPECT_EQ(json.Take(), R"({"a":{"b": 1},"c":[2,null]})");
}

TEST(JsonWriter, StartsAnewAfterTake) {
  JsonWriter json;
  EXPECT_EQ(json.Bool(true).Take(), "true");
  EXPECT_EQ(json.Bool(false).Take(), "false");
}

TEST(JsonWriter, EscapesWhatJsonForbidsInStrings) {
  EXPECT_EQ(QuotedForm(""), R"("")");
  EXPECT_EQ(QuotedForm("say \"a\\b\""), R"("say \"a\\b\"")");
  EXPECT_EQ(QuotedForm("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(QuotedForm(std::string_view("\0\x01\x1f\x20", 4)), R"("\u0000\u0001\u001f ")");
  EXPECT_EQ(QuotedForm("/ \x7f"), "\"/ \x7f\"");
}

TEST(JsonWriter, KeepsValidUtf8AndReplacesTheRest) {
  EXPECT_EQ(QuotedForm("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"),
            "\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80\"");
  EXPECT_EQ(QuotedForm("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(QuotedForm("cut \xE2\x82"), "\"cut \xEF\xBF\xBD\"");
  EXPECT_EQ(QuotedForm("\xE2\x82\""), "\"\xEF\xBF\xBD\\\"\"");
}

TEST(JsonWriter, WritesAllIntegers) {
  EXPECT_EQ(JsonWriter().Int(std::numeric_limits<int64_t>::min()).Take(), "-9223372036854775808");
  EXPECT_EQ(JsonWriter().Int(0).Take(), "0");
  EXPECT_EQ(JsonWriter().Uint(std::numeric_limits<uint64_t>::max()).Take(), "18446744073709551615");
}

TEST(JsonWriter, WritesTheShortestDigitsThatReadBack) {
  EXPECT_EQ(DoubleForm(0.1), "0.1");
  EXPECT_EQ(DoubleForm(-0.0), "-0");
  EXPECT_EQ(DoubleForm(1), "1");
  for (const double number : {1.0 / 3, 2.2250738585072014e-308, 1.7976931348623157e308, -1e22})
    EXPECT_EQ(std::stod(DoubleForm(number)), number);
  EXPECT_EQ(DoubleForm(5e-324), "5e-324");
}

TEST(JsonWriter, WritesNullForWhatIsNoNumber) {
  EXPECT_EQ(DoubleForm(std::nan("")), "null");
  EXPECT_EQ(DoubleForm(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(DoubleForm(-std::numeric_limits<double>::infinity()), "null");
  JsonWriter json;
  EXPECT_EQ(json.BeginArray().Double(std::nan("")).Int(1).EndArray().Take(), "[null,1]");
}

TEST(JsonWriterDeathTest, StopsAtCallsThatHaveNoJsonForm) {
  EXPECT_DEATH(JsonWriter().BeginObject().Int(1), "CHECK failed");
  EXPECT_DEATH(JsonWriter().BeginObject().Key("a").EndObject(), "CHECK failed");
  EXPECT_DEATH(JsonWriter().BeginArray().Key("a"), "CHECK failed");
  EXPECT_DEATH(JsonWriter().BeginArray().EndObject(), "CHECK failed");
  EXPECT_DEATH(JsonWriter().BeginArray().Take(), "CHECK failed");
  EXPECT_DEATH(JsonWriter().Int(1).Int(2), "CHECK failed");
}

}  // namespace
}  // namespace skald
