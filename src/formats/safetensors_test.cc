#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace skald::formats {
namespace {

MemorySource File(std::string_view header, size_t data_bytes, uint64_t claimed_bytes) {
  std::vector<std::byte> bytes(sizeof(uint64_t) + header.size() + data_bytes);
  std::memcpy(bytes.data(), &claimed_bytes, sizeof(claimed_bytes));
  std::memcpy(bytes.data() + sizeof(uint64_t), header.data(), header.size());
  return MemorySource(std::move(bytes));
}

Result<std::vector<StoredTensor>> Parse(std::string_view header, size_t data_bytes) {
  return ParseSafetensors(File(header, data_bytes, header.size()));
}

void ExpectRefused(std::string_view header, size_t data_bytes, std::string_view part) {
  const auto tensors = Parse(header, data_bytes);
  ASSERT_FALSE(tensors.ok()) << header;
  EXPECT_NE(tensors.status().message().find(part), std::string::npos) << tensors.status().message();
}

TEST(Safetensors, GivesTheTensorsInTheOrderOfTheirData) {
  const std::string_view header =
      R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )";
  const auto tensors = Parse(header, 16);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 2u);
  const StoredTensor& a = (*tensors)[0];
  const StoredTensor& b = (*tensors)[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.begin, 8 + header.size());
  EXPECT_EQ(a.bytes, 4u);
  EXPECT_EQ(b.type, StoredType::kBF16);
  EXPECT_EQ(b.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(b.begin, 8 + header.size() + 4);
}

TEST(Safetensors, TakesTensorsWithoutElements) {
  const auto tensors = Parse(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("none":{"dtype":"F32","shape":[0,5],"data_offsets":[8,8]}})",
                             8);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  EXPECT_EQ((*tensors)[1].bytes, 0u);
}

TEST(Safetensors, RefusesEntriesThatContradictThemselves) {
  ExpectRefused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "take 8 bytes");
  ExpectRefused(R"({"a":{"dtype":"F3","shape":[1],"data_offsets":[0,4]}})", 4, "'F3'");
  ExpectRefused(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "no dtype");
  ExpectRefused(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "no shape");
  ExpectRefused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "natural number");
  ExpectRefused(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4, "natural");
  ExpectRefused(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4,
                "more than 8 dimensions");
  ExpectRefused(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 4,
                "2^64");
  for (const char* range : {"[4,0]", "[0]", "[0,4,8]", "[0,\"4\"]", "4", "[-4,0]"}) {
    ExpectRefused(std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)") + range + "}}",
                  4, "expected data_offsets");
  }
  ExpectRefused(R"({"a":7})", 0, "expected an object");
  ExpectRefused("[]", 0, "expected an object");
  ExpectRefused("{", 0, "no JSON");
}

TEST(Safetensors, RefusesGapsOverlapsAndWhatLiesOutside) {
  const auto two = [](std::string_view first, std::string_view second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(first) +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(second) + "}}";
  };
  ExpectRefused(two("[0,4]", "[5,9]"), 9, "gap");
  ExpectRefused(two("[1,5]", "[5,9]"), 9, "gap");
  ExpectRefused(two("[0,4]", "[2,6]"), 6, "overlap");
  ExpectRefused(two("[0,4]", "[0,4]"), 4, "overlap");
  ExpectRefused(two("[0,4]", "[4,8]"), 7, "truncated");
}

TEST(Safetensors, RefusesHeadersThatDoNotFit) {
  for (const uint64_t claimed : {uint64_t{3}, uint64_t{100'000'001}, ~uint64_t{0}}) {
    const auto tensors = ParseSafetensors(File("{}", 0, claimed));
    ASSERT_FALSE(tensors.ok());
    EXPECT_NE(tensors.status().message().find("truncated"), std::string::npos);
  }
  EXPECT_FALSE(ParseSafetensors(MemorySource(std::vector<std::byte>(7))).ok());
  EXPECT_TRUE(ParseSafetensors(File("{}", 0, 2)).ok());
}

}  // namespace
}  // namespace skald::formats
