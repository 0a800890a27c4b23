/// Bench: how fast a model runs on this machine, and how fast it could.
///
///     Result<CeilingMeter> meter = CeilingMeter::Create(2, "best");
///     Result<BenchSession> session =
///         BenchSession::Create(model, {.threads = 2}, {.positions = 640});
///     const BenchCase prefill{.prompt_tokens = 512};
///     const Ceilings before = meter->Measure();
///     Result<double> seconds = session->Measure(prefill, go_on);
///     const Ceilings beside = MeanOf(before, meter->Measure());
///     double share = BoundOf(session->WorkOf(prefill), beside).seconds / *seconds;
///
/// What is timed is the forward pass alone, as in llama-bench: random tokens, no tokenizer, no
/// sampling. Every figure has a ceiling beside it, from the roofline model (Williams, Waterman,
/// Patterson 2009): the arithmetic of the matrices at the measured peak rate, or the bytes that
/// must come from memory at the measured read bandwidth, whichever takes longer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// What all threads in use can do together at some moment, measured with registers full of nothing
/// else (src/kernels/peak/peak.h says how).
struct Ceilings {
  /// Multiply-accumulates of int8 a second with the instructions in use: tiles or dot products.
  double int8_macs_per_second = 0;
  double bfloat16_macs_per_second = 0;  ///< the same of bfloat16
  double float_macs_per_second = 0;     ///< fused multiply-adds of float32 a second
  double read_bytes_per_second = 0;     ///< from a buffer larger than the caches
  int threads = 0;
  std::string_view isa_name = {};  ///< "avx512"
};

/// Measures ceilings again and again, beside what is compared with them: what a virtual machine
/// gets of its host's memory and cores can double within a second, so that a ceiling of another
/// moment says little. One thread at a time.
class CeilingMeter {
 public:
  /// Takes memory of four times the last-level cache (256 MiB to 1 GiB) and writes it once, and
  /// starts the threads. `threads` and `isa` as in EngineOptions. Errors: kInvalidArgument,
  /// kResourceExhausted.
  static Result<CeilingMeter> Create(int threads, const std::string& isa);
  ~CeilingMeter();
  CeilingMeter(CeilingMeter&&) noexcept;
  CeilingMeter& operator=(CeilingMeter&&) noexcept;

  /// The ceilings now: a burst of 20 ms of each kind of arithmetic, then one pass over the memory,
  /// which leaves nothing else in the caches. Below 0.2 s where memory gives 10 GB/s.
  Ceilings Measure();

  /// What stands behind a CeilingMeter. Defined by the engine room.
  struct State;

 private:
  explicit CeilingMeter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What stands between a measurement before and one after: the mean of both, figure by figure.
Ceilings MeanOf(const Ceilings& a, const Ceilings& b);

/// What one repetition computes: `batch` sequences that hold `depth` tokens each (not timed) are
/// given `prompt_tokens` more, one sequence after the other, in steps of EngineOptions::max_chunk;
/// then `decode_tokens` steps follow of one token for each sequence. Only the last row of a prompt
/// and the decoded rows have logits.
struct BenchCase {
  int64_t prompt_tokens = 0;
  int64_t decode_tokens = 0;
  int64_t batch = 1;
  int64_t depth = 0;
};

/// The arithmetic and the memory traffic that a piece of work cannot do without.
struct BenchWork {
  double int8_macs = 0;      ///< multiply-accumulates of matrices stored as integers
  double bfloat16_macs = 0;  ///< of matrices stored as bfloat16
  double float_macs = 0;     ///< of matrices stored as other floats, and of attention
  double bytes = 0;          ///< weights once a step, and K and V once a step and sequence
};

/// Which ceiling is the lowest for a piece of work.
enum class Resource : uint8_t { kInt8, kBFloat16, kFloat, kMemory };
/// "int8", "bf16", "fp32", "read".
std::string_view ResourceName(Resource resource);

/// The least time that work can take under the ceilings, and what it is bound by: the larger of
/// arithmetic (all kinds, one after the other) and memory. A model that fits the cache can be
/// faster than its memory bound.
struct Bound {
  double seconds = 0;
  Resource resource = Resource::kMemory;
};
Bound BoundOf(const BenchWork& work, const Ceilings& ceilings);

/// One operation of a step.
struct ProfileRow {
  std::string_view operation;
  double seconds = 0;
  BenchWork work;  ///< arithmetic, and bytes of operands and results, each counted once
};

/// The largest case a session must have room for.
struct BenchLimits {
  int64_t batch = 1;
  int64_t positions = 1;  ///< depth + prompt_tokens + decode_tokens of one sequence
};

/// Runs cases on one model. One thread at a time.
class BenchSession {
 public:
  /// Reserves pages for limits.batch sequences of limits.positions; the context of `options` is not
  /// used. Errors: as Engine::Create.
  static Result<BenchSession> Create(const Model& model, const EngineOptions& options,
                                     const BenchLimits& limits);
  ~BenchSession();
  BenchSession(BenchSession&&) noexcept;
  BenchSession& operator=(BenchSession&&) noexcept;

  /// Asked between steps; false ends the measurement.
  using GoOn = std::function<bool()>;

  /// Seconds of one repetition. The token at a position of a sequence is always the same, so a
  /// depth once computed is kept for the next case. Nothing is allocated while the time runs.
  /// Errors: kInvalidArgument (nothing to time, or beyond the limits), kCancelled.
  Result<double> Measure(const BenchCase& wanted, const GoOn& go_on);

  /// What `Measure` of that case computes.
  BenchWork WorkOf(const BenchCase& wanted) const;

  /// Where the time of the case goes, operation by operation: medians of `repetitions` repetitions
  /// after one that warms up. The operations are measured between barriers and add up to the case.
  /// Errors: as Measure.
  Result<std::vector<ProfileRow>> Profile(const BenchCase& wanted, int repetitions,
                                          const GoOn& go_on);

  int threads() const;
  std::string_view isa_name() const;

  /// What stands behind a BenchSession. Defined by the engine room.
  struct State;

 private:
  explicit BenchSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
