#include "formats/metadata.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"

namespace skald::formats {
namespace {

Metadata Parse(const GgufBuilder& builder) {
  const auto file = ParseGguf(builder.BuildSource());
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? file->metadata : Metadata();
}

template <typename T>
std::string MessageOf(const Result<T>& result) {
  return result.ok() ? "no error" : result.status().message();
}

template <typename T>
std::vector<T> ToVector(const NumberArray<T>& array) {
  std::vector<T> values;
  for (size_t i = 0; i < array.size(); ++i) values.push_back(array[i]);
  return values;
}

TEST(Metadata, IntegersOfEveryWidthReadAsU64AndI64) {
  const Metadata m = Parse(GgufBuilder()
                               .Key("u8", uint8_t{255})
                               .Key("i8", int8_t{-128})
                               .Key("u16", uint16_t{65535})
                               .Key("i16", int16_t{-32768})
                               .Key("u32", uint32_t{4294967295})
                               .Key("i32", std::numeric_limits<int32_t>::min())
                               .Key("u64", std::numeric_limits<uint64_t>::max())
                               .Key("i64", std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(*m.GetU64("u8"), 255u);
  EXPECT_EQ(*m.GetI64("i8"), -128);
  EXPECT_EQ(*m.GetU64("u16"), 65535u);
  EXPECT_EQ(*m.GetI64("i16"), -32768);
  EXPECT_EQ(*m.GetU64("u32"), 4294967295u);
  EXPECT_EQ(*m.GetI64("i32"), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(*m.GetU64("u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*m.GetI64("i64"), std::numeric_limits<int64_t>::min());
}

TEST(Metadata, IntegersOutsideTheResultTypeAreErrorsWithTheValue) {
  const Metadata m =
      Parse(GgufBuilder().Key("negative", int32_t{-7}).Key("huge", uint64_t{1} << 63));
  EXPECT_EQ(MessageOf(m.GetU64("negative")),
            "key 'negative': expected a non-negative integer, found -7");
  EXPECT_EQ(MessageOf(m.GetI64("huge")),
            "key 'huge': expected an integer below 2^63, found 9223372036854775808");
  EXPECT_EQ(m.GetU64("negative").status().code(), ErrorCode::kBadModel);
}

TEST(Metadata, FloatsBoolsAndStrings) {
  const Metadata m = Parse(GgufBuilder()
                               .Key("f32", 0.1f)
                               .Key("f64", 0.1)
                               .Key("yes", true)
                               .Key("no", false)
                               .Key("text", std::string_view("a\0\xff", 3))
                               .Key("empty", ""));
  EXPECT_EQ(*m.GetF64("f32"), 0.1f);
  EXPECT_EQ(*m.GetF64("f64"), 0.1);
  EXPECT_TRUE(*m.GetBool("yes"));
  EXPECT_FALSE(*m.GetBool("no"));
  EXPECT_EQ(*m.GetString("text"), std::string_view("a\0\xff", 3));
  EXPECT_EQ(*m.GetString("empty"), "");
}

TEST(Metadata, WrongTypesNameKeyExpectedAndFound) {
  const Metadata m = Parse(
      GgufBuilder().Key("n", uint32_t{1}).Key("s", "1").Key("list", std::vector<int32_t>{1, 2}));
  EXPECT_EQ(MessageOf(m.GetU64("s")),
            "key 's': expected a non-negative integer, found type string");
  EXPECT_EQ(MessageOf(m.GetI64("list")),
            "key 'list': expected an integer, found type array of 2 int32");
  EXPECT_EQ(MessageOf(m.GetF64("n")), "key 'n': expected a float, found type uint32");
  EXPECT_EQ(MessageOf(m.GetBool("n")), "key 'n': expected a bool, found type uint32");
  EXPECT_EQ(MessageOf(m.GetString("n")), "key 'n': expected a string, found type uint32");
  EXPECT_EQ(MessageOf(m.GetStrings("list")),
            "key 'list': expected an array of strings, found type array of 2 int32");
  EXPECT_EQ(MessageOf(m.GetFloats("list")),
            "key 'list': expected an array of floats, found type array of 2 int32");
  EXPECT_EQ(MessageOf(m.GetInts("n")), "key 'n': expected an array of integers, found type uint32");
  EXPECT_EQ(MessageOf(m.GetIntOrInts("s")),
            "key 's': expected an integer or an array of integers, found type string");
}

TEST(Metadata, MissingKeysAreErrorsUnlessThereIsAFallback) {
  const Metadata m = Parse(GgufBuilder().Key("b", uint32_t{5}));
  for (const char* key : {"a", "bb", "", "c"}) {
    EXPECT_FALSE(m.Contains(key));
    EXPECT_FALSE(m.GetU64(key).ok());
    EXPECT_EQ(*m.GetU64Or(key, 9), 9u);
  }
  EXPECT_EQ(MessageOf(m.GetU64("a")), "key 'a' is missing, expected a non-negative integer");
  EXPECT_EQ(MessageOf(m.GetStrings("a")), "key 'a' is missing, expected an array of strings");
  EXPECT_EQ(*m.GetU64Or("b", 9), 5u);
  EXPECT_EQ(*m.GetI64Or("a", -1), -1);
  EXPECT_EQ(*m.GetF64Or("a", 0.5), 0.5);
  EXPECT_TRUE(*m.GetBoolOr("a", true));
  EXPECT_EQ(*m.GetStringOr("a", "x"), "x");
  // A key of the wrong type is never quietly replaced.
  EXPECT_FALSE(m.GetStringOr("b", "x").ok());
}

TEST(Metadata, ArraysOfEveryKind) {
  const Metadata m = Parse(GgufBuilder()
                               .Key("i8", std::vector<int8_t>{-1, 1})
                               .Key("u64", std::vector<uint64_t>{0, 1})
                               .Key("f32", std::vector<float>{0.5f, -2.0f})
                               .Key("f64", std::vector<double>{1e300})
                               .Key("none", std::vector<int32_t>{})
                               .Key("strings", std::vector<std::string>{"a", "", "bc"})
                               .Key("no-strings", std::vector<std::string>{}));
  EXPECT_EQ(ToVector(*m.GetInts("i8")), (std::vector<int64_t>{-1, 1}));
  EXPECT_EQ(ToVector(*m.GetInts("u64")), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(ToVector(*m.GetFloats("f32")), (std::vector<double>{0.5, -2.0}));
  EXPECT_EQ(ToVector(*m.GetFloats("f64")), (std::vector<double>{1e300}));
  EXPECT_TRUE(m.GetInts("none")->empty());
  const auto strings = m.GetStrings("strings");
  ASSERT_TRUE(strings.ok());
  EXPECT_EQ(strings->size(), 3u);
  EXPECT_EQ(std::vector<std::string>(strings->begin(), strings->end()),
            (std::vector<std::string>{"a", "", "bc"}));
  EXPECT_TRUE(m.GetStrings("no-strings")->empty());
  EXPECT_EQ(m.GetStrings("no-strings")->begin(), m.GetStrings("no-strings")->end());
}

TEST(Metadata, ArrayElementsAreNeverReadInAnotherSize) {
  // Scores as int8 once made a reader take 4 bytes from each of 1 (heap overflow).
  const Metadata m = Parse(GgufBuilder().Key("scores", std::vector<int8_t>{1, 2, 3}));
  EXPECT_EQ(MessageOf(m.GetFloats("scores")),
            "key 'scores': expected an array of floats, found type array of 3 int8");
}

TEST(Metadata, OneIntegerCountsAsAnArrayOfOneWhereAskedFor) {
  const Metadata m =
      Parse(GgufBuilder().Key("n", uint16_t{8}).Key("list", std::vector<uint32_t>{4, 2}));
  EXPECT_EQ(ToVector(*m.GetIntOrInts("n")), (std::vector<int64_t>{8}));
  EXPECT_EQ(ToVector(*m.GetIntOrInts("list")), (std::vector<int64_t>{4, 2}));
}

TEST(Metadata, KeysAreListedInFileOrderAndFoundByName) {
  GgufBuilder builder;
  for (int i = 0; i < 1000; ++i) {
    builder.Key("key" + std::to_string(i * 7919 % 1000), static_cast<uint32_t>(i));
  }
  const Metadata m = Parse(builder);
  ASSERT_EQ(m.size(), 1000u);
  for (size_t i = 0; i < m.size(); ++i) EXPECT_EQ(*m.GetU64(m.entry(i).key), i);
  EXPECT_EQ(m.entry(1).key, "key919");
}

TEST(Metadata, EntriesTellTypeAndCount) {
  const Metadata m =
      Parse(GgufBuilder().Key("s", "four").Key("a", std::vector<float>{1, 2, 3}).Key("b", true));
  EXPECT_EQ(m.entry(0).count, 4u);
  EXPECT_EQ(m.entry(1).type, ValueType::kArray);
  EXPECT_EQ(m.entry(1).element_type, ValueType::kFloat32);
  EXPECT_EQ(m.entry(1).count, 3u);
  EXPECT_EQ(m.entry(2).type, ValueType::kBool);
  EXPECT_EQ(m.FindEntry("a")->count, 3u);
  EXPECT_FALSE(m.FindEntry("z").has_value());
}

TEST(Metadata, DescribesValuesOnOneLine) {
  const Metadata m = Parse(GgufBuilder()
                               .Key("s", "two\nlines")
                               .Key("i", int8_t{-5})
                               .Key("u", std::numeric_limits<uint64_t>::max())
                               .Key("f", 1e-5f)
                               .Key("b", false)
                               .Key("list", std::vector<int32_t>{1, 2, 3})
                               .Key("long", std::vector<uint8_t>(1000))
                               .Key("words", std::vector<std::string>{"a", "b"})
                               .Key("none", std::vector<std::string>{}));
  const std::vector<std::string> expected = {"'two\\nlines'",
                                             "-5",
                                             "18446744073709551615",
                                             "1e-05",
                                             "false",
                                             "[1, 2, 3]",
                                             "[0, 0, 0, 0, ... (1000 uint8)]",
                                             "['a', 'b']",
                                             "[]"};
  ASSERT_EQ(m.size(), expected.size());
  for (size_t i = 0; i < m.size(); ++i) EXPECT_EQ(m.Describe(i, 11), expected[i]) << i;
}

TEST(Metadata, OutlivesTheFileItCameFrom) {
  Metadata copy;
  {
    const Metadata m = Parse(GgufBuilder().Key("s", "still here"));
    copy = m;
  }
  EXPECT_EQ(*copy.GetString("s"), "still here");
}

}  // namespace
}  // namespace skald::formats
