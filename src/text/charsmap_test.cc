#include "text/charsmap.h"

#include <gtest/gtest.h>

#include <string>

#include "text/charsmap_builder.h"

namespace skald::text {
namespace {

std::string Replaced(const Charsmap& map, std::string_view text) {
  const Charsmap::Match match = map.LongestPrefix(text);
  return std::string(text.substr(0, match.length)) + "=" + std::string(match.replacement);
}

CharsmapBuilder Small() {
  return CharsmapBuilder().Add("a", "A").Add("abc", "longer").Add("\xC2\xA0", " ").Add("x", "");
}

std::string Refusal(const CharsmapBuilder& builder) {
  const auto map = Charsmap::Create(builder.Build());
  EXPECT_FALSE(map.ok());
  EXPECT_EQ(map.status().code(), ErrorCode::kBadModel);
  return map.status().message();
}

TEST(CharsmapTest, FindsTheLongestKey) {
  const auto map = Charsmap::Create(Small().Build());
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(Replaced(*map, "a"), "a=A");
  EXPECT_EQ(Replaced(*map, "ab"), "a=A");
  EXPECT_EQ(Replaced(*map, "abcd"), "abc=longer");
  EXPECT_EQ(Replaced(*map, "\xC2\xA0z"), "\xC2\xA0= ");
  EXPECT_EQ(Replaced(*map, "\xC2"), "=");
  EXPECT_EQ(Replaced(*map, "xx"), "x=");
  EXPECT_EQ(Replaced(*map, "b"), "=");
  EXPECT_EQ(Replaced(*map, ""), "=");
  EXPECT_EQ(Replaced(*map, std::string_view("\0a", 2)), "=");
  EXPECT_EQ(Replaced(Charsmap(), "a"), "=");
}

TEST(CharsmapTest, EveryShorterPrefixIsRefused) {
  const std::string blob = Small().Build();
  for (size_t size = 0; size < blob.size(); ++size) {
    const auto map = Charsmap::Create(blob.substr(0, size));
    ASSERT_FALSE(map.ok()) << size;
    EXPECT_TRUE(map.status().message().starts_with("precompiled_charsmap: "));
  }
}

TEST(CharsmapTest, TablesThatLeadAstrayAreRefused) {
  CharsmapBuilder cycle = Small();
  // The child of 'a' by 'b' leads back to the block of the root.
  cycle.units()[256 ^ 'a'] = ((256u ^ 'a') ^ 256u) << 10 | 'a';
  EXPECT_EQ(Refusal(cycle), "precompiled_charsmap: it has a cycle at unit 256");
  CharsmapBuilder beyond = Small();
  beyond.units()[256 ^ 'a'] = ((1u << 21) - 1024) << 10 | 'a';
  EXPECT_NE(Refusal(beyond).find(" lies beyond its "), std::string::npos);
  CharsmapBuilder root = Small();
  root.units()[0] = 0xFFFFFFFF;
  EXPECT_NE(Refusal(root).find(" lies beyond its "), std::string::npos);
  CharsmapBuilder value = CharsmapBuilder().Add("a", "A");
  value.units()[512] = 1u << 31 | 1000;
  EXPECT_EQ(Refusal(value), "precompiled_charsmap: replacement 1000 begins beyond their 2 bytes");
}

TEST(CharsmapTest, OddSizesAndLongKeysAreRefused) {
  std::string odd = Small().Build();
  odd[0] = static_cast<char>(odd[0] + 1);
  EXPECT_NE(Charsmap::Create(odd).status().message().find("units of 4 bytes"), std::string::npos);
  EXPECT_NE(Charsmap::Create(std::string(9, '\0')).status().message().find("units of 4 bytes"),
            std::string::npos);
  EXPECT_TRUE(Charsmap::Create(CharsmapBuilder().Add(std::string(200, 'k'), "v").Build()).ok());
  EXPECT_EQ(Refusal(CharsmapBuilder().Add(std::string(300, 'k'), "v")),
            "precompiled_charsmap: it has a key longer than 256 bytes");
  EXPECT_EQ(Refusal(CharsmapBuilder().Add("k", std::string(257, 'v'))),
            "precompiled_charsmap: replacement 0 is longer than 256 bytes");
  EXPECT_TRUE(Charsmap::Create(CharsmapBuilder().Add("k", std::string(256, 'v')).Build()).ok());
}

}  // namespace
}  // namespace skald::text
