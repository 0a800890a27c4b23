#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "engine/options.h"
#include "kernels/kernels.h"
#include "kernels/peak/peak.h"
#include "skald/bench.h"

namespace skald {
namespace {

// Four times the last-level cache: at most a quarter of a pass can be hits. At least 256 MiB, for
// machines that do not say how large it is; at most 1 GiB, for those that share a huge one.
constexpr int64_t kReadBytesMin = int64_t{256} << 20;
constexpr int64_t kReadBytesMax = int64_t{1} << 30;
constexpr int64_t kReadPerCache = 4;

int64_t ReadBufferBytes() {
  const int64_t cache = std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
  const int64_t wanted = std::clamp(kReadPerCache * cache, kReadBytesMin, kReadBytesMax);
  return RoundUp<int64_t>(wanted, int64_t{1} << 20);
}

// Written once by the threads that will read it, which also places it near them.
void Fill(AlignedBuffer& buffer, ThreadPool& pool) {
  constexpr int64_t kFillBytes = int64_t{2} << 20;
  const auto bytes = static_cast<int64_t>(buffer.size());
  pool.Run(DivCeil(bytes, kFillBytes), [&](int64_t unit, int) {
    const int64_t first = unit * kFillBytes;
    std::memset(buffer.data() + first, 0x5a,
                static_cast<size_t>(std::min(kFillBytes, bytes - first)));
  });
}

}  // namespace

struct CeilingMeter::State {
  State(const engine::Hardware& hardware, AlignedBuffer buffer_in)
      : isa(hardware.isa), pool(hardware.threads), buffer(std::move(buffer_in)) {}

  kernels::Isa isa;
  ThreadPool pool;
  AlignedBuffer buffer;
};

CeilingMeter::CeilingMeter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CeilingMeter::~CeilingMeter() = default;
CeilingMeter::CeilingMeter(CeilingMeter&&) noexcept = default;
CeilingMeter& CeilingMeter::operator=(CeilingMeter&&) noexcept = default;

Result<CeilingMeter> CeilingMeter::Create(int threads, const std::string& isa) {
  ASSIGN_OR_RETURN(const engine::Hardware hardware, engine::ResolveHardware(threads, isa));
  ASSIGN_OR_RETURN(AlignedBuffer buffer,
                   AlignedBuffer::Create(static_cast<uint64_t>(ReadBufferBytes())));
  auto state = std::make_unique<State>(hardware, std::move(buffer));
  Fill(state->buffer, state->pool);
  return CeilingMeter(std::move(state));
}

Ceilings CeilingMeter::Measure() {
  const AlignedBuffer& buffer = state_->buffer;
  const kernels::Peaks peaks = kernels::MeasurePeaks(kernels::TableFor(state_->isa).peak,
                                                     state_->pool, {buffer.data(), buffer.size()});
  return {.int8_macs_per_second = peaks.int8_macs_per_second,
          .bfloat16_macs_per_second = peaks.bfloat16_macs_per_second,
          .float_macs_per_second = peaks.float_macs_per_second,
          .read_bytes_per_second = peaks.read_bytes_per_second,
          .threads = state_->pool.thread_count(),
          .isa_name = state_->isa.name};
}

Ceilings MeanOf(const Ceilings& a, const Ceilings& b) {
  Ceilings mean = a;
  mean.int8_macs_per_second = (a.int8_macs_per_second + b.int8_macs_per_second) / 2;
  mean.bfloat16_macs_per_second = (a.bfloat16_macs_per_second + b.bfloat16_macs_per_second) / 2;
  mean.float_macs_per_second = (a.float_macs_per_second + b.float_macs_per_second) / 2;
  mean.read_bytes_per_second = (a.read_bytes_per_second + b.read_bytes_per_second) / 2;
  return mean;
}

std::string_view ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kInt8: return "int8";
    case Resource::kBFloat16: return "bf16";
    case Resource::kFloat: return "fp32";
    case Resource::kMemory: return "read";
  }
  return "unknown";
}

Bound BoundOf(const BenchWork& work, const Ceilings& ceilings) {
  const double int8 = work.int8_macs / ceilings.int8_macs_per_second;
  const double floats = work.float_macs / ceilings.float_macs_per_second;
  const double memory = work.bytes / ceilings.read_bytes_per_second;
  const double bfloat16 = work.bfloat16_macs / ceilings.bfloat16_macs_per_second;
  const double arithmetic = int8 + bfloat16 + floats;
  if (memory >= arithmetic) return {memory, Resource::kMemory};
  const double most = std::max({int8, bfloat16, floats});
  return {arithmetic, most == int8       ? Resource::kInt8
                      : most == bfloat16 ? Resource::kBFloat16
                                         : Resource::kFloat};
}

}  // namespace skald
