#include "skald/kernel_bench.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace skald {
namespace {

KernelBench Scalar() { return *KernelBench::Create("scalar"); }

TEST(KernelBench, NamesEveryTypeOfWeightsOnce) {
  const KernelBench bench = Scalar();
  EXPECT_EQ(bench.isa_name(), "scalar");
  std::string all;
  for (const KernelInfo& kernel : bench.kernels()) all += kernel.weights + ", ";
  for (const char* name : {"F32", "BF16", "Q8_0", "Q4_K", "IQ1_M", "NVFP4"}) {
    const std::string wanted = std::string(name) + ", ";
    const size_t at = all.find(wanted);
    EXPECT_NE(at, std::string::npos) << name;
    EXPECT_EQ(all.find(wanted, at + 1), std::string::npos) << name;
  }
}

TEST(KernelBench, FloatsAreBoundByFloats) {
  const KernelBench bench = Scalar();
  for (const KernelInfo& kernel : bench.kernels()) {
    const bool floats = kernel.weights == "F32" || kernel.weights == "F16";
    EXPECT_EQ(kernel.resource, floats                     ? Resource::kFloat
                               : kernel.weights == "BF16" ? Resource::kBFloat16
                                                          : Resource::kInt8)
        << kernel.weights;
  }
}

// On the best set of this CPU: a kernel cannot be faster than the instruction it is made of by more
// than the machine changes meanwhile.
TEST(KernelBench, MeasuresEachKernelBesideItsPeak) {
  Result<KernelBench> bench = KernelBench::Create("best");
  ASSERT_TRUE(bench.ok()) << bench.status().message();
  for (size_t kernel = 0; kernel < bench->kernels().size(); ++kernel) {
    SCOPED_TRACE(bench->kernels()[kernel].weights);
    const Result<std::vector<KernelSample>> samples =
        bench->Measure({.kernel = kernel, .rows = 3, .repetitions = 3});
    ASSERT_TRUE(samples.ok()) << samples.status().message();
    ASSERT_EQ(samples->size(), 3u);
    double least = samples->front().share();
    for (const KernelSample& sample : *samples) {
      least = std::min(least, sample.share());
      EXPECT_GT(sample.macs_per_second, 1e6);
      EXPECT_GT(sample.peak_macs_per_second, 1e6);
      EXPECT_DOUBLE_EQ(sample.share(), sample.macs_per_second / sample.peak_macs_per_second);
    }
    EXPECT_LT(least, 2);
  }
}

TEST(KernelBench, RefusesWhatDoesNotExist) {
  KernelBench bench = Scalar();
  const size_t count = bench.kernels().size();
  for (const KernelCase& wrong :
       {KernelCase{.kernel = count}, KernelCase{.rows = 0}, KernelCase{.rows = 4097},
        KernelCase{.repetitions = 0}, KernelCase{.repetitions = 10001}}) {
    const Status status = bench.Measure(wrong).status();
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(status.message().find("expected a kernel, 1 to 4096 rows"), std::string::npos);
  }
}

}  // namespace
}  // namespace skald
