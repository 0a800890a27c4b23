#include "cli/bench_measure.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/status_macros.h"

namespace skald::cli {

namespace {

// Adds `weight` times the rates of `more` to those of `sum`.
void AddWeighted(Ceilings& sum, const Ceilings& more, double weight) {
  sum.int8_macs_per_second += weight * more.int8_macs_per_second;
  sum.bfloat16_macs_per_second += weight * more.bfloat16_macs_per_second;
  sum.float_macs_per_second += weight * more.float_macs_per_second;
  sum.read_bytes_per_second += weight * more.read_bytes_per_second;
  sum.threads = more.threads;
  sum.isa_name = more.isa_name;
}

}  // namespace

int64_t StepsOfPiece(double seconds_of_step) {
  constexpr double kMostSteps = 1 << 20;  // the longest decode there is, however fast a step
  return static_cast<int64_t>(
      std::clamp(std::round(kPieceSeconds / seconds_of_step), 1.0, kMostSteps));
}

std::vector<BenchCase> PiecesOf(const BenchCase& bench_case, int64_t steps) {
  CHECK(steps >= 1);
  if (bench_case.prompt_tokens > 0) return {bench_case};
  std::vector<BenchCase> pieces;
  for (int64_t done = 0; done < bench_case.decode_tokens; done += steps) {
    BenchCase piece = bench_case;
    piece.depth += done;
    piece.decode_tokens = std::min(steps, bench_case.decode_tokens - done);
    pieces.push_back(piece);
  }
  return pieces;
}

Result<Repetition> MeasureBeside(const BenchMeter& meter, const std::vector<BenchCase>& pieces) {
  Repetition sum;
  Ceilings weighted;
  ASSIGN_OR_RETURN(Ceilings before, meter.ceilings());
  for (const BenchCase& piece : pieces) {
    ASSIGN_OR_RETURN(const double seconds, meter.seconds(piece));
    ASSIGN_OR_RETURN(const Ceilings after, meter.ceilings());
    const Ceilings beside = MeanOf(before, after);
    sum.seconds += seconds;
    sum.bound_seconds += BoundOf(meter.work(piece), beside).seconds;
    AddWeighted(weighted, beside, seconds);
    before = after;
  }
  AddWeighted(sum.ceilings, weighted, 1 / sum.seconds);
  return sum;
}

}  // namespace skald::cli
