// Reading a header takes memory and time in proportion to its bytes, whatever it holds: what
// gguf.h promises (at most 4 times the bytes, time linear but for the indices).

#include "support/cost.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"

namespace skald::formats {
namespace {

#if defined(SKALD_SANITIZED) || !defined(NDEBUG)
constexpr size_t kCount = 4096;
#else
constexpr size_t kCount = 32768;
#endif

// As in the tests of text: n log n with caches that no longer hold it, and noise.
constexpr double kFourTimes = 12;
constexpr double kSeconds = 0.05;
constexpr int64_t kBytesPerByte = 4;
constexpr int64_t kBytesBase = 64 << 10;

std::string Name(size_t i) { return "key." + std::to_string(i * 7919 % 1'000'003); }

std::vector<std::byte> Keys(size_t count) {
  GgufBuilder builder;
  for (size_t i = 0; i < count; ++i) builder.Key(Name(i), static_cast<uint8_t>(1));
  return builder.BuildHeader();
}
std::vector<std::byte> EqualPrefixes(size_t count) {
  GgufBuilder builder;
  for (size_t i = 0; i < count / 16; ++i) builder.Key(std::string(200, 'k') + Name(i), true);
  return builder.BuildHeader();
}
std::vector<std::byte> Strings(size_t count) {
  GgufBuilder builder;
  builder.Key("a", std::vector<std::string>(count, ""));
  builder.Key("b", std::vector<std::string>(count, "token"));
  return builder.BuildHeader();
}
std::vector<std::byte> LongStrings(size_t count) {
  GgufBuilder builder;
  for (size_t i = 0; i < count / 1024; ++i) builder.Key(Name(i), std::string(16384, 's'));
  return builder.BuildHeader();
}
std::vector<std::byte> Numbers(size_t count) {
  GgufBuilder builder;
  ByteWriter value;
  value.Put(static_cast<uint32_t>(ValueType::kUint8)).Put(uint64_t{8 * count});
  for (size_t i = 0; i < 8 * count; ++i) value.Put(static_cast<uint8_t>(i));
  builder.RawKey("a", static_cast<uint32_t>(ValueType::kArray), value);
  return builder.BuildHeader();
}
std::vector<std::byte> SmallArrays(size_t count) {
  GgufBuilder builder;
  for (size_t i = 0; i < count; ++i) builder.Key(Name(i), std::vector<std::string>());
  return builder.BuildHeader();
}
std::vector<std::byte> Tensors(size_t count) {
  GgufBuilder builder;
  for (size_t i = 0; i < count; ++i) builder.Tensor({.name = Name(i), .dims = {1}, .type_id = 0});
  return builder.Build();
}

test::Cost CostOfParsing(const std::vector<std::byte>& bytes) {
  const MemorySource source(bytes);
  return test::LeastCostOf(3, [&] {
    const Result<GgufFile> file = ParseGguf(source);
    EXPECT_TRUE(file.ok()) << file.status().message();
  });
}

// The block that a header is copied into is as large as the file, or as the largest header allowed:
// address space, of which only what is read is touched.
void Check(const char* name, std::vector<std::byte> (*make)(size_t)) {
  const std::vector<std::byte> small = make(kCount / 4);
  const std::vector<std::byte> large = make(kCount);
  const test::Cost few = CostOfParsing(small);
  const test::Cost many = CostOfParsing(large);
  EXPECT_LT(many.peak_bytes, kBytesPerByte * static_cast<int64_t>(large.size()) + kBytesBase)
      << name << " of " << large.size() << " bytes";
  EXPECT_LT(many.cpu_seconds, kFourTimes * few.cpu_seconds + kSeconds) << name;
}

TEST(CostOfHeaders, IsInProportionWhateverTheyHold) {
  Check("keys", Keys);
  Check("keys with equal prefixes", EqualPrefixes);
  Check("strings", Strings);
  Check("long strings", LongStrings);
  Check("numbers", Numbers);
  Check("small arrays", SmallArrays);
  Check("tensors", Tensors);
}

// A number of the file that promises more than there is costs nothing.
TEST(CostOfHeaders, CountsThatAreNotThereCostNothing) {
  for (const uint64_t count : {uint64_t{1} << 16, uint64_t{4} << 20, uint64_t{1} << 40}) {
    for (const ValueType type : {ValueType::kUint8, ValueType::kString, ValueType::kFloat64}) {
      GgufBuilder builder;
      ByteWriter value;
      value.Put(static_cast<uint32_t>(type)).Put(count);
      builder.RawKey("a", static_cast<uint32_t>(ValueType::kArray), value);
      const std::vector<std::byte> bytes = builder.BuildHeader();
      const MemorySource source(bytes);
      const test::Cost cost = test::CostOf([&] { EXPECT_FALSE(ParseGguf(source).ok()); });
      EXPECT_LT(cost.peak_bytes, kBytesBase) << count;
    }
  }
}

// Every entry of a large file is described in the space that was asked for.
TEST(CostOfHeaders, DescriptionsAreAsLongAsAskedFor) {
  const std::vector<std::byte> bytes = Strings(kCount);
  const MemorySource source(bytes);
  const Result<GgufFile> file = ParseGguf(source);
  ASSERT_TRUE(file.ok());
  const test::Cost cost = test::CostOf([&] {
    for (size_t i = 0; i < file->metadata.size(); ++i)
      EXPECT_LT(file->metadata.Describe(i, 60).size(), 200U);
  });
  EXPECT_LT(cost.total_bytes, 64 << 10);
}

}  // namespace
}  // namespace skald::formats
