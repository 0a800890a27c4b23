#include "cli/kernels_command.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/kernels_report.h"
#include "cli/status_line.h"
#include "skald/kernel_bench.h"

namespace skald::cli {

namespace {

Result<KernelResult> MeasureKernel(KernelBench& bench, size_t kernel, int repetitions,
                                   StatusLine& status) {
  KernelResult result = {.kernel = bench.kernels()[kernel], .samples = {}};
  for (const int64_t rows : kKernelRows) {
    if (InterruptScope::Requested()) return Status(ErrorCode::kCancelled, "interrupted");
    status.Say(fmt::format("[{}/{}] {}, {} rows", kernel + 1, bench.kernels().size(),
                           result.kernel.weights, rows));
    ASSIGN_OR_RETURN(std::vector<KernelSample> samples,
                     bench.Measure({.kernel = kernel, .rows = rows, .repetitions = repetitions}));
    result.samples.push_back(std::move(samples));
  }
  return result;
}

Result<KernelReport> Measure(const std::string& isa, const BenchHeader& header, Console& console) {
  StatusLine status(console);
  ASSIGN_OR_RETURN(KernelBench bench, KernelBench::Create(isa));
  KernelReport report = {
      .header = header, .isa_name = std::string(bench.isa_name()), .results = {}};
  for (size_t kernel = 0; kernel < bench.kernels().size(); ++kernel) {
    ASSIGN_OR_RETURN(KernelResult result,
                     MeasureKernel(bench, kernel, static_cast<int>(header.repetitions), status));
    report.results.push_back(std::move(result));
  }
  return report;
}

}  // namespace

Status BenchKernels(const EngineArgs& engine, OutputForm form, const BenchHeader& header,
                    Console& console) {
  const InterruptScope interrupt;
  ASSIGN_OR_RETURN(const KernelReport report, Measure(engine.isa, header, console));
  return console.Write(form == OutputForm::kJson ? KernelJson(report) : KernelText(report));
}

}  // namespace skald::cli
