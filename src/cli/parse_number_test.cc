#include "cli/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace skald::cli {
namespace {

TEST(ParseBytes, KnowsThreeUnits) {
  EXPECT_EQ(*ParseBytes("0", 1 << 30), 0);
  EXPECT_EQ(*ParseBytes("4096", 1 << 30), 4096);
  EXPECT_EQ(*ParseBytes("3K", 1 << 30), 3072);
  EXPECT_EQ(*ParseBytes("5M", 1 << 30), 5 << 20);
  EXPECT_EQ(*ParseBytes("1G", 1 << 30), 1 << 30);
  for (const char* text : {"2G", "1073741825", "9223372036854775807G", "", "G", "-1", "-1K", "1.5G",
                           "1T", "1GB", "1 G", "1g"})
    EXPECT_FALSE(ParseBytes(text, 1 << 30).ok()) << text;
  EXPECT_EQ(ParseBytes("x", 10).status().message(),
            "'x' is not a size, expected bytes, or a whole number with K, M or G, of at most 10 "
            "bytes");
}

TEST(ParseInt, TakesTheWholeRangeOfTheType) {
  EXPECT_EQ(*ParseInt<int32_t>("-2147483648"), -2147483648);
  EXPECT_EQ(*ParseInt<int32_t>("2147483647"), 2147483647);
  EXPECT_EQ(*ParseInt<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*ParseInt<int64_t>("0"), 0);
  EXPECT_FALSE(ParseInt<int32_t>("2147483648").ok());
  EXPECT_FALSE(ParseInt<uint64_t>("18446744073709551616").ok());
}

TEST(ParseInt, RefusesAnythingThatIsNotDigits) {
  for (const char* text : {"", " ", "5x", " 5", "5 ", "+5", "0x5", "1e3", "5.0", "--5", "-", "nan"})
    EXPECT_FALSE(ParseInt<int64_t>(text).ok()) << "'" << text << "'";
  EXPECT_FALSE(ParseInt<uint64_t>("-1").ok());
}

TEST(ParseInt, EndsOfTheRangeBelongToIt) {
  const Range<int> range{1, 8};
  EXPECT_TRUE(ParseInt<int>("1", range).ok());
  EXPECT_TRUE(ParseInt<int>("8", range).ok());
  EXPECT_EQ(ParseInt<int>("0", range).status().message(), "0 is out of range, expected 1 to 8");
  EXPECT_FALSE(ParseInt<int>("9", range).ok());
  EXPECT_FALSE(ParseInt<int>("99999999999999999999", range).ok());
}

TEST(ParseDouble, TakesFiniteDecimalNumbers) {
  EXPECT_EQ(*ParseDouble("0.8"), 0.8);
  EXPECT_EQ(*ParseDouble("-1e-3"), -1e-3);
  EXPECT_EQ(*ParseDouble(".5"), 0.5);
  EXPECT_EQ(*ParseDouble("2"), 2.0);
}

TEST(ParseDouble, RefusesTheRest) {
  for (const char* text : {"", "nan", "NaN", "inf", "-inf", "1e999", "0.8x", " 1", "1,5", "0x1p3"})
    EXPECT_FALSE(ParseDouble(text).ok()) << "'" << text << "'";
}

TEST(ParseIntList, TakesCommasAndWhiteSpace) {
  const Range<int64_t> range{0, 100};
  EXPECT_EQ(*ParseIntList("1", range), (std::vector<int64_t>{1}));
  EXPECT_EQ(*ParseIntList("1,2,3", range), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(*ParseIntList(" 1 ,2\n3\r\n", range), (std::vector<int64_t>{1, 2, 3}));
}

TEST(ParseIntList, RefusesEmptyEntriesAndOtherText) {
  const Range<int64_t> range{0, 100};
  for (const char* text : {"", " ", ",", "1,", ",1", "1,,2", "1,x", "1;2", "[1]", "1,101", "-1"})
    EXPECT_FALSE(ParseIntList(text, range).ok()) << "'" << text << "'";
}

TEST(ParseTokenIds, RefusesNumbersNoVocabularyHas) {
  EXPECT_EQ(*ParseTokenIds("0,2147483647"), (std::vector<TokenId>{0, 2147483647}));
  EXPECT_FALSE(ParseTokenIds("2147483648").ok());
  EXPECT_FALSE(ParseTokenIds("-1").ok());
}

}  // namespace
}  // namespace skald::cli
