#include "formats/metadata_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace skald::formats {
namespace {

TEST(MetadataWriter, GivesBackWhatWasSet) {
  MetadataWriter writer;
  writer.SetInt("int", -7);
  writer.SetFloat("float", 0.5F);
  writer.SetBool("bool", true);
  writer.SetString("string", "a\0b");
  writer.SetInts("ints", std::array<int64_t, 2>{1, int64_t{1} << 40});
  writer.SetFloats("floats", std::array<float, 1>{2.5F});
  writer.SetBools("bools", std::array<bool, 3>{true, false, true});
  writer.SetStrings("strings", std::array<std::string_view, 3>{"x", "", "yz"});
  const Result<Metadata> metadata = std::move(writer).Finish();
  ASSERT_TRUE(metadata.ok());
  EXPECT_EQ(metadata->size(), 8u);
  EXPECT_EQ(*metadata->GetI64("int"), -7);
  EXPECT_EQ(*metadata->GetF64("float"), 0.5);
  EXPECT_TRUE(*metadata->GetBool("bool"));
  EXPECT_EQ(*metadata->GetString("string"), "a");
  EXPECT_EQ((*metadata->GetInts("ints"))[1], int64_t{1} << 40);
  EXPECT_EQ((*metadata->GetFloats("floats"))[0], 2.5);
  EXPECT_EQ((*metadata->GetInts("bools"))[2], 1);
  std::string joined;
  const StringArray strings = *metadata->GetStrings("strings");
  for (const std::string_view each : strings) joined += "[" + std::string(each) + "]";
  EXPECT_EQ(joined, "[x][][yz]");
}

TEST(MetadataWriter, TakesEmptyValues) {
  MetadataWriter writer;
  writer.SetString("string", "");
  writer.SetStrings("strings", {});
  writer.SetFloats("floats", {});
  const Result<Metadata> metadata = std::move(writer).Finish();
  ASSERT_TRUE(metadata.ok());
  EXPECT_EQ(*metadata->GetString("string"), "");
  EXPECT_TRUE(metadata->GetStrings("strings")->empty());
  EXPECT_TRUE(metadata->GetFloats("floats")->empty());
}

TEST(MetadataWriter, RefusesAKeyThatWasSetTwice) {
  MetadataWriter writer;
  writer.SetInt("a", 1);
  writer.SetInt("a", 1);
  EXPECT_FALSE(std::move(writer).Finish().ok());
}

}  // namespace
}  // namespace skald::formats
