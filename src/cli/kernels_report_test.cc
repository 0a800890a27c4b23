#include "cli/kernels_report.h"

#include <gtest/gtest.h>

namespace skald::cli {
namespace {

// Two kernels; with n rows the first reaches n GMAC/s of about 1,000, the second n of 10.
KernelReport SmallReport() {
  KernelReport report;
  report.header.cpu = "A CPU";
  report.header.date = "2026-11-21 20:55 UTC";
  report.header.version = "9.9.9";
  report.header.repetitions = 3;
  report.isa_name = "avx2";
  report.results = {
      {.kernel = {.weights = "Q8_0, Q5_0", .resource = Resource::kInt8, .way = "16 tokens"},
       .samples = {}},
      {.kernel = {.weights = "F32", .resource = Resource::kFloat, .way = ""}, .samples = {}}};
  for (const int64_t rows : kKernelRows) {
    const double rate = 1e9 * static_cast<double>(rows);
    report.results[0].samples.push_back({{.macs_per_second = rate, .peak_macs_per_second = 1e12},
                                         {.macs_per_second = rate, .peak_macs_per_second = 2e12},
                                         {.macs_per_second = rate, .peak_macs_per_second = 8e11}});
    report.results[1].samples.push_back({{.macs_per_second = rate, .peak_macs_per_second = 1e10}});
  }
  return report;
}

TEST(KernelText, HasALineForEachKernelAndAColumnForEachNumberOfRows) {
  EXPECT_EQ(KernelText(SmallReport()),
            "skald 9.9.9, numerics 3, 2026-11-21 20:55 UTC\n"
            "A CPU; avx2, one thread, weights in L2\n"
            "peaks: int8 1000 (800..2000) GMAC/s, fp32 10 (10..10) GMAC/s\n"
            "GMAC/s and share of the peak beside it, by rows of activations; medians of 3\n"
            "\n"
            "| weights    | loop      | peak |         1 |         2 |         4 |         8 |     "
            "    16 |"
            "         64 |          512 |\n"
            "| ---------- | --------- | ---- | --------: | --------: | --------: | --------: | "
            "---------: |"
            " ---------: | -----------: |\n"
            "| Q8_0, Q5_0 | 16 tokens | int8 | 1.0   0 % | 2.0   0 % | 4.0   0 % | 8.0   1 % | "
            "16.0   2 % |"
            " 64.0   6 % |  512.0  51 % |\n"
            "| F32        |           | fp32 | 1.0  10 % | 2.0  20 % | 4.0  40 % | 8.0  80 % | "
            "16.0 160 % |"
            " 64.0 640 % | 512.0 5120 % |\n");
}

TEST(KernelJson, HasAnObjectForEachKernelAndNumberOfRows) {
  const std::string json = KernelJson(SmallReport());
  for (const char* part :
       {R"("cpu_info":"A CPU","isa":"avx2","n_threads":1,"weights":"Q8_0, Q5_0",)",
        R"("weights":"Q8_0, Q5_0","loop":"16 tokens","rows":512,)",
        R"("bound":"int8","macs_per_second":5.12e+11,"macs_per_second_min":5.12e+11)",
        R"("peak_macs_per_second":1e+12,"peak_macs_per_second_min":8e+11)",
        R"("share":0.512,"share_min":0.256,"share_max":0.64})",
        R"("weights":"F32","loop":"","rows":1,"bound":"fp32")"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  size_t objects = 0;
  for (size_t at = json.find("\"rows\""); at != std::string::npos;
       at = json.find("\"rows\"", at + 1))
    ++objects;
  EXPECT_EQ(objects, 2 * kKernelRows.size());
}

}  // namespace
}  // namespace skald::cli
