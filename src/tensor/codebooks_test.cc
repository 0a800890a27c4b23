#include "tensor/codebooks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>

namespace skald::tensor {
namespace {

// FNV-1a of the elements in order. The expected numbers were computed from the published tables by
// a program that shares nothing with this one.
template <typename Entry, size_t kEntries>
uint64_t HashOf(const std::array<Entry, kEntries>& table) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const Entry entry : table) {
    for (size_t i = 0; i < sizeof(Entry); ++i) {
      hash = (hash ^ (entry >> 8 * i & 255)) * 0x100000001b3;
    }
  }
  return hash;
}

TEST(Codebooks, AreThePublishedOnes) {
  EXPECT_EQ(HashOf(kIQ2XXSGrid), 0xbb4ee025b5ac6e8eu);
  EXPECT_EQ(HashOf(kIQ2XSGrid), 0xc9b1ee61e79909bdu);
  EXPECT_EQ(HashOf(kIQ2SGrid), 0x123edd38a3b62b90u);
  EXPECT_EQ(HashOf(kIQ3XXSGrid), 0xdfa5dc83d6a155d5u);
  EXPECT_EQ(HashOf(kIQ3SGrid), 0xfa37020c25b44829u);
  EXPECT_EQ(HashOf(kIQ1Grid), 0xec28b6368f0c62e0u);
}

template <typename Entry, size_t kEntries>
void ExpectDistinct(const std::array<Entry, kEntries>& table) {
  EXPECT_EQ(std::set<Entry>(table.begin(), table.end()).size(), kEntries);
}

TEST(Codebooks, NoEntryComesTwice) {
  ExpectDistinct(kIQ2XXSGrid);
  ExpectDistinct(kIQ2XSGrid);
  ExpectDistinct(kIQ2SGrid);
  ExpectDistinct(kIQ3XXSGrid);
  ExpectDistinct(kIQ3SGrid);
  ExpectDistinct(kIQ1Grid);
}

TEST(SignsOf, TheNumberOfNegativeElementsIsEven) {
  EXPECT_EQ(SignsOf(0), 0);
  EXPECT_EQ(SignsOf(1), 0x81);
  EXPECT_EQ(SignsOf(3), 3);
  EXPECT_EQ(SignsOf(127), 0xff);
  for (uint32_t bits = 0; bits < 128; ++bits) {
    EXPECT_EQ(std::popcount(SignsOf(bits)) % 2, 0) << bits;
    EXPECT_EQ(SignsOf(bits) & 127u, bits);
  }
}

}  // namespace
}  // namespace skald::tensor
