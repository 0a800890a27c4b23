/// Repetitions of a benchmark, each compared with the ceilings beside it.
///
/// What a virtual machine gets of its host's memory and cores moves within seconds, by half and
/// more. So the ceilings are measured before and after whatever is compared with them, and a decode
/// of many tokens, which takes seconds, is cut into pieces with the ceilings between them. A share
/// is the least time that the work could take, at the mean of the ceilings on both sides, by the
/// time it took.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "skald/bench.h"
#include "skald/status.h"

namespace skald::cli {

/// What measures. Functions, so that a test can be the machine.
struct BenchMeter {
  std::function<Result<Ceilings>()> ceilings;               ///< as of now
  std::function<Result<double>(const BenchCase&)> seconds;  ///< of the case, computed now
  std::function<BenchWork(const BenchCase&)> work;
};

/// One repetition of a case, ours or a peer's.
struct Repetition {
  double seconds = 0;
  double bound_seconds = 0;  ///< the least it could take at the ceilings beside it
  Ceilings ceilings;         ///< those beside it, of pieces the mean weighted with their seconds

  double share() const { return bound_seconds / seconds; }
};

/// Length of a piece of a decode: several times that of a measurement of the ceilings, and short
/// beside the seconds in which the machine changes.
inline constexpr double kPieceSeconds = 0.5;

/// The steps of a decode that take about kPieceSeconds; at least 1.
int64_t StepsOfPiece(double seconds_of_step);

/// A decode as consecutive pieces of `steps` steps, each behind the tokens of those before it; a
/// case with a prompt is one piece. They add up to the case. Requires steps >= 1.
std::vector<BenchCase> PiecesOf(const BenchCase& bench_case, int64_t steps);

/// Computes the pieces of one repetition in turn with measurements of the ceilings.
/// Errors: those of the meter.
Result<Repetition> MeasureBeside(const BenchMeter& meter, const std::vector<BenchCase>& pieces);

}  // namespace skald::cli
