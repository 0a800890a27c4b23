#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace skald {
namespace {

constexpr uint64_t kHuge = 2u << 20;

uint64_t AddressOf(const AlignedBuffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data());
}

TEST(AlignedBuffer, IsZeroAndAlignedAtEverySizeAroundTheHugePage) {
  for (const uint64_t size : {uint64_t{1}, uint64_t{64}, kHuge - 1, kHuge, kHuge + 1, 3 * kHuge}) {
    auto buffer = AlignedBuffer::Create(size);
    ASSERT_TRUE(buffer.ok()) << size;
    EXPECT_EQ(buffer->size(), size);
    EXPECT_EQ(AddressOf(*buffer) % (size >= kHuge ? kHuge : 64), 0u) << size;
    const auto bytes = buffer->As<uint8_t>();
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; })) << size;
    bytes.front() = 1;
    bytes.back() = 2;  // the last byte is ours to write
  }
}

TEST(AlignedBuffer, OfNoBytesIsEmpty) {
  auto buffer = AlignedBuffer::Create(0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->size(), 0u);
  EXPECT_TRUE(buffer->As<float>().empty());
}

TEST(AlignedBuffer, ImpossibleSizesAreErrorsThatNameTheSize) {
  for (const uint64_t size : {UINT64_MAX, UINT64_MAX - 4096, uint64_t{1} << 62}) {
    const auto buffer = AlignedBuffer::Create(size);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.status().code(), ErrorCode::kResourceExhausted);
    EXPECT_NE(buffer.status().message().find(std::to_string(size)), std::string::npos);
  }
}

TEST(AlignedBuffer, AsRoundsTheSizeDown) {
  const auto buffer = AlignedBuffer::Create(11);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->As<float>().size(), 2u);
}

TEST(AlignedBuffer, MoveHandsOverTheMemory) {
  auto made = AlignedBuffer::Create(100);
  ASSERT_TRUE(made.ok());
  AlignedBuffer first = *std::move(made);
  const std::byte* data = first.data();
  AlignedBuffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  AlignedBuffer third;
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 100u);
}

}  // namespace
}  // namespace skald
