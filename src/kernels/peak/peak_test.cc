#include "kernels/peak/peak.h"

#include <gtest/gtest.h>

#include "base/aligned_buffer.h"
#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"

namespace skald::kernels {
namespace {

class Peak : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(EveryIsa, Peak, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(Peak, WorkGrowsWithSteps) {
  const PeakKernels kernels = TableFor(GetParam()).peak;
  EXPECT_EQ(kernels.dot(0), 0);
  EXPECT_GT(kernels.dot(1), 0);
  EXPECT_EQ(kernels.dot(7), 7 * kernels.dot(1));
  EXPECT_EQ(kernels.bfloat16(0), 0);
  EXPECT_GT(kernels.bfloat16(1), 0);
  EXPECT_EQ(kernels.bfloat16(7), 7 * kernels.bfloat16(1));
  EXPECT_EQ(kernels.fma(0), 0);
  EXPECT_GT(kernels.fma(1), 0);
  EXPECT_EQ(kernels.fma(7), 7 * kernels.fma(1));
}

// A read that leaves bytes out would report a bandwidth that does not exist.
TEST_P(Peak, ReadDependsOnEveryWord) {
  const PeakKernels kernels = TableFor(GetParam()).peak;
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(2048);
  ASSERT_TRUE(buffer.ok());
  const std::span<uint64_t> words = buffer->As<uint64_t>();
  const uint64_t all_zero = kernels.read(buffer->data(), 2048);
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = uint64_t{1} << (i % 64);
    EXPECT_NE(kernels.read(buffer->data(), 2048), all_zero) << "word " << i;
    words[i] = 0;
  }
}

// So many bytes that a thread which waits a tenth of a second for its turn is plausible, too.
TEST_P(Peak, RatesArePlausible) {
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(1 << 20);
  ASSERT_TRUE(buffer.ok());
  ThreadPool pool(2);
  const Peaks peaks =
      MeasurePeaks(TableFor(GetParam()).peak, pool, {buffer->data(), buffer->size()});
  // From a slow scalar core under a sanitizer to beyond any two cores of today.
  EXPECT_GT(peaks.int8_macs_per_second, 1e6);
  EXPECT_LT(peaks.int8_macs_per_second, 1e13);
  EXPECT_GT(peaks.bfloat16_macs_per_second, 1e6);
  EXPECT_LT(peaks.bfloat16_macs_per_second, 1e13);
  EXPECT_GT(peaks.float_macs_per_second, 1e6);
  EXPECT_LT(peaks.float_macs_per_second, 1e13);
  EXPECT_GT(peaks.read_bytes_per_second, 1e6);
  EXPECT_LT(peaks.read_bytes_per_second, 1e13);
}

}  // namespace
}  // namespace skald::kernels
