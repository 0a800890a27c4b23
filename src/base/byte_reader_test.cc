#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace skald {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ByteReader, ReadsNumbersLittleEndianAtAnyAlignment) {
  const auto bytes = Bytes({0xff, 0x01, 0x02, 0x04, 0x03, 0x02, 0x01, 0x00, 0x00, 0x80, 0x3f});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Read<int8_t>(), -1);
  EXPECT_EQ(reader.Read<uint16_t>(), 0x0201);
  EXPECT_EQ(reader.Read<uint32_t>(), 0x01020304u);
  EXPECT_EQ(reader.Read<float>(), 1.0f);
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_EQ(reader.offset(), bytes.size());
}

TEST(ByteReader, ReadsTheExtremesOfEveryWidth) {
  const std::vector<std::byte> ones(8, std::byte{0xff});
  EXPECT_EQ(ByteReader(ones).Read<uint8_t>(), std::numeric_limits<uint8_t>::max());
  EXPECT_EQ(ByteReader(ones).Read<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ByteReader(ones).Read<int64_t>(), -1);
}

TEST(ByteReader, ReadPastTheEndReturnsNothingAndDoesNotMove) {
  const std::vector<std::byte> bytes(7);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    ByteReader reader({bytes.data(), size});
    EXPECT_EQ(reader.Read<uint64_t>(), std::nullopt) << size;
    EXPECT_EQ(reader.offset(), 0u);
    EXPECT_EQ(reader.Read<uint32_t>().has_value(), size >= 4) << size;
  }
}

TEST(ByteReader, TakeHandsOutExactlyWhatIsLeftAndNotOneMore) {
  const auto bytes = Bytes({1, 2, 3});
  ByteReader reader(bytes);
  EXPECT_FALSE(reader.Take(4).has_value());
  EXPECT_FALSE(reader.Take(std::numeric_limits<uint64_t>::max()).has_value());
  ASSERT_TRUE(reader.Take(2).has_value());
  const auto last = reader.Take(1);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ((*last)[0], std::byte{3});
  EXPECT_TRUE(reader.Take(0).has_value());
  EXPECT_FALSE(reader.Take(1).has_value());
}

}  // namespace
}  // namespace skald
