#include "kernels/uniform/uniform.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"

namespace skald::kernels {
namespace {

std::vector<double> Numbers(Isa isa, const RandomKey& key, uint32_t first_pair, int64_t pairs) {
  std::vector<double> numbers(static_cast<size_t>(2 * pairs + 1), 77);  // one behind: must stay
  TableFor(isa).uniform(
      {.key = key, .first_pair = first_pair, .pairs = pairs, .numbers = numbers.data()});
  EXPECT_EQ(numbers.back(), 77);
  numbers.pop_back();
  return numbers;
}

class UniformTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, UniformTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(UniformTest, GivesTheNumbersOfThePairsAtEveryLengthAndKey) {
  constexpr std::array<RandomKey, 3> kKeys = {
      RandomKey{},
      RandomKey{.seed = ~uint64_t{0}, .sequence = ~uint32_t{0}, .position = ~uint64_t{0}},
      RandomKey{.seed = 0x0123456789abcdef, .sequence = 3, .position = uint64_t{5} << 32 | 7}};
  for (const RandomKey& key : kKeys) {
    for (const uint32_t first : {0u, 1u, 16383u, 0x7ffffff0u}) {
      for (int64_t pairs = 0; pairs < 35; ++pairs) {
        std::vector<double> expected;
        for (uint32_t i = 0; i < static_cast<uint32_t>(pairs); ++i) {
          for (const double number : UniformPair(key, first + i)) expected.push_back(number);
        }
        EXPECT_EQ(Numbers(GetParam(), key, first, pairs), expected) << first << ", " << pairs;
      }
    }
  }
}

// A hundred thousand of them have leading zeros of every likely count: no conversion rounds.
TEST_P(UniformTest, GivesTheBitsOfTheSpecificationOfManyNumbers) {
  const RandomKey key = {.seed = 11, .sequence = 1, .position = 1234};
  const std::vector<double> numbers = Numbers(GetParam(), key, 9, 50'000);
  const std::vector<double> expected = Numbers(ScalarIsa(), key, 9, 50'000);
  EXPECT_EQ(std::memcmp(numbers.data(), expected.data(), 8 * numbers.size()), 0);
}

}  // namespace
}  // namespace skald::kernels
