#include "server/json_reader.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "base/cpu_clock.h"

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

// `{"NAME":0,...}` of names that Boost.JSON's hash (FNV-1a, the table's address added first)
// sends to the same few places of a table of 2^k entries: large ones begin 16 bytes into a page.
// The last step multiplies by an odd number: it gives 0 where the character equals what is there.
std::string Colliding(size_t count) {
  constexpr uint64_t kPrime = 0x100000001B3;
  constexpr std::string_view kLetters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  std::string body = "{";
  for (size_t number = 0; count > 0; ++number) {
    std::string name;
    uint64_t hash = 0xcbf29ce484222325 + 16;
    const auto add = [&](char c) {
      name += c;
      hash = (hash ^ static_cast<uint64_t>(c)) * kPrime;
    };
    for (size_t rest = number, i = 0; i < 4; ++i, rest /= 64) add(kLetters[rest % 64]);
    const uint64_t before = hash;
    for (const char c : kLetters) {
      if (count == 0) break;
      name.resize(4);
      hash = before;
      add(c);
      const auto last = static_cast<char>(hash & 0xFFF);
      if ((hash & 0xFFF) > 127 || kLetters.find(last) == std::string_view::npos) continue;
      add(last);
      EXPECT_EQ(hash & 0xFFF, 0U);
      body += (body.size() > 1 ? ",\"" : "\"") + name + "\":0";
      --count;
    }
  }
  return body + "}";
}

TEST(ReadJson, BoundsTheNamesOfAnObject) {
  EXPECT_EQ(Refusal(Colliding(kJsonNames)), "");
  EXPECT_NE(Refusal(Colliding(kJsonNames + 1)).find("more than 2048 names"), std::string::npos);
}

TEST(ReadJson, BoundsTheComparisonsOfNames) {
  const auto objects = [](size_t count, const std::string& object) {
    return "[" + Repeated(object + ",", count - 1) + object + "]";
  };
  EXPECT_EQ(Refusal(objects(2000, Colliding(50))), "");
  EXPECT_EQ(Refusal(objects(50'000, Colliding(18))), "") << "without a table";
  EXPECT_NE(Refusal(objects(8, Colliding(1024))).find("too many names"), std::string::npos);
  std::string long_names = Colliding(200);
  const std::string more(5000, 'x');
  for (size_t at = long_names.find(":"); at != std::string::npos;
       at = long_names.find(":", at + more.size() + 2))
    long_names.insert(at - 1, more);
  EXPECT_NE(Refusal(long_names).find("too long ones"), std::string::npos);
}

// 0.8 MB in one object took 8 s; what is taken at most is some milliseconds.
TEST(ReadJson, TakesNoLongerWhereNamesCollide) {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // where large tables begin is then known
  const std::string one = Colliding(65'536);
  std::string many = "[" + Colliding(1024);
  for (int i = 0; i < 4; ++i) many += "," + Colliding(1024);
  many += "]";
  const CpuClock clock;
  const double begin = clock.Now();
  EXPECT_NE(Refusal(one), "");
  EXPECT_EQ(Refusal(many), "");
  EXPECT_LT(clock.Now() - begin, 1.0);
}

}  // namespace
}  // namespace skald::server
