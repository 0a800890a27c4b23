/// `skald bench --kernels`: the kernels of matrices alone, without a model.
#pragma once

#include "cli/bench_report.h"
#include "cli/console.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// Measures every kernel of the instruction set for each of kKernelRows and prints the report; half
/// a minute with 5 repetitions. Of `engine` the instruction set counts, of `header` what a report
/// without a model has. Errors: as KernelBench; kCancelled after Ctrl-C.
Status BenchKernels(const EngineArgs& engine, OutputForm form, const BenchHeader& header,
                    Console& console);

}  // namespace skald::cli
