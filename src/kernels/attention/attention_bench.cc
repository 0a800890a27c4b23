// Speed of attention: GMAC/s (per second, counted over what the causal mask leaves), share of the
// float32 multiply-add peak, and GB/s of K and V (the bytes of every visible position once per call
// and, in prefill, once per block of rows that reads them; what matters is decode).
//
// On a machine that others use too, the mean says little, and a neighbour on the same core halves
// every rate. So prefill is timed in units of a few tokens, as the model calls it: the time of each
// unit is its least over the repetitions, in CPU time of this thread, and the time of the case is
// the sum over the units. The peak is taken between the same repetitions.
//
// K and V lie in L2 but in "decode from memory", where the calls go round over caches of 256 MiB.

#include <benchmark/benchmark.h>
#include <time.h>  // clock_gettime: POSIX

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/peak/peak.h"

namespace skald::kernels {
namespace {

// CPU time of this thread: ends where another one gets the core.
double CpuSeconds() {
  timespec now{};
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Multiply-adds per second of this core with the registers of `isa`, over about 50 microseconds.
double FmaPeak(Isa isa) {
  constexpr int64_t kSteps = 20'000;
  const double start = CpuSeconds();
  const int64_t macs = TableFor(isa).peak.fma(kSteps);
  return static_cast<double>(macs) / (CpuSeconds() - start);
}

struct Load {
  KvTypes types = {};
  int head_dim = 64;
  int group = 4;
  int64_t tokens = 1;
  int64_t length = 512;  // positions in the cache, the tokens included
  int64_t caches = 1;    // sequences that the calls go round over

  // Tokens of one call, as the model makes them.
  int64_t Unit() const { return std::max(16, 64 / group); }
};

int64_t VisiblePositions(const Load& load) {
  int64_t visible = 0;
  for (int64_t t = 0; t < load.tokens; ++t) visible += load.length - load.tokens + t + 1;
  return visible;
}

int64_t KvBytes(const Load& load) {
  return load.length *
         (KeyPageBytes(load.types.keys, load.head_dim) +
          ValuePageBytes(load.types.values, load.head_dim)) /
         kPageTokens;
}

std::vector<float> RandomFloats(int64_t n, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) x = static_cast<float>(random() % 2001) * 1e-3f - 1.0f;
  return values;
}

// The sequences of a load, their queries and the room for the results.
class Sequences {
 public:
  Sequences(Isa isa, const Load& load) {
    std::mt19937 random(1);
    const int64_t key_bytes = KeyPageBytes(load.types.keys, load.head_dim);
    const int64_t page_bytes = key_bytes + ValuePageBytes(load.types.values, load.head_dim);
    pages_per_cache_ = (load.length + kPageTokens - 1) / kPageTokens;
    pages_.resize(static_cast<size_t>(pages_per_cache_ * load.caches));
    std::iota(pages_.begin(), pages_.end(), 0);
    std::shuffle(pages_.begin(), pages_.end(), random);
    arena_ = Allocate(static_cast<int64_t>(pages_.size()) * page_bytes);
    scratch_ = Allocate(4 * AttentionScratchFloats(load.head_dim, load.head_dim, load.group));
    const int64_t row = int64_t{load.group} * load.head_dim;
    query_ = RandomFloats(load.tokens * row, random);
    out_.resize(query_.size());
    args_.kv = {.types = load.types,
                .arena = arena_.data(),
                .page_stride = page_bytes,
                .value_offset = key_bytes,
                .pages = pages_.data(),
                .key_dim = load.head_dim,
                .value_dim = load.head_dim};
    args_.query = query_.data();
    args_.query_stride = row;
    args_.out = out_.data();
    args_.out_stride = row;
    args_.tokens = load.tokens;
    args_.first_position = load.length - load.tokens;
    args_.group = load.group;
    args_.scale = static_cast<float>(1 / std::sqrt(load.head_dim));
    args_.scratch = scratch_.As<float>().data();
    const std::vector<float> key = RandomFloats(load.head_dim, random);
    const std::vector<float> value = RandomFloats(load.head_dim, random);
    for (int64_t cache = 0; cache < load.caches; ++cache) {
      for (int64_t t = 0; t < load.length; ++t) {
        TableFor(isa).append_kv(Args(cache, 0, 0).kv, t, key.data(), value.data());
      }
    }
  }

  // `tokens` tokens of a sequence from `first` on, or as many as there are.
  AttentionArgs Args(int64_t cache, int64_t first, int64_t tokens) const {
    AttentionArgs args = args_;
    args.kv.pages += cache * pages_per_cache_;
    args.query += first * args.query_stride;
    args.out += first * args.out_stride;
    args.first_position += first;
    args.tokens = std::min(tokens, args.tokens - first);
    return args;
  }

 private:
  static AlignedBuffer Allocate(int64_t bytes) {
    Result<AlignedBuffer> buffer = AlignedBuffer::Create(static_cast<uint64_t>(bytes));
    CHECK(buffer.ok());
    return std::move(*buffer);
  }

  int64_t pages_per_cache_ = 0;
  std::vector<int32_t> pages_;
  AlignedBuffer arena_;
  AlignedBuffer scratch_;
  std::vector<float> query_;
  std::vector<float> out_;
  AttentionArgs args_;
};

void RunAttention(benchmark::State& state, Isa isa, const Load& load) {
  const Sequences sequences(isa, load);
  const AttentionFn attention = TableFor(isa).attention;
  const int64_t macs = VisiblePositions(load) * load.group * 2 * load.head_dim;
  const int64_t calls = std::max<int64_t>(1, 5'000'000 / macs);  // at least 100 microseconds
  const int64_t units = (load.tokens + load.Unit() - 1) / load.Unit();
  double peak = 0;
  std::vector<double> least(static_cast<size_t>(units), std::numeric_limits<double>::infinity());
  int64_t cache = 0;
  for (auto _ : state) {
    peak = std::max(peak, FmaPeak(isa));
    double total = 0;
    for (int64_t unit = 0; unit < units; ++unit) {
      const double start = CpuSeconds();
      for (int64_t call = 0; call < calls; ++call) {
        attention(sequences.Args(cache, unit * load.Unit(), load.Unit()));
        cache = (cache + 1) % load.caches;
      }
      benchmark::ClobberMemory();
      const double seconds = CpuSeconds() - start;
      double& best = least[static_cast<size_t>(unit)];
      best = std::min(best, seconds / static_cast<double>(calls));
      total += seconds;
    }
    state.SetIterationTime(total);
  }
  const double seconds = std::accumulate(least.begin(), least.end(), 0.0);
  const double rate = static_cast<double>(macs) / seconds;
  state.counters["GMAC/s"] = rate * 1e-9;
  state.counters["peak"] = peak * 1e-9;
  state.counters["share"] = rate / peak;
  state.counters["us"] = seconds * 1e6;
  if (load.tokens == 1) {
    state.counters["KV GB/s"] = static_cast<double>(KvBytes(load)) / seconds * 1e-9;
  }
}

std::string NameOf(KvType type) {
  switch (type) {
    case KvType::kF16: return "f16";
    case KvType::kBF16: return "bf16";
    case KvType::kF32: return "f32";
    case KvType::kQ8: return "q8";
    case KvType::kQ4: return "q4";
  }
  UNREACHABLE();
}

void Register(Isa isa, const std::string& what, const Load& load) {
  const std::string name = std::string(isa.name) + "/" + what + "/head " +
                           std::to_string(load.head_dim) + "/group " + std::to_string(load.group) +
                           "/positions " + std::to_string(load.length) + "/" +
                           NameOf(load.types.keys);
  benchmark::RegisterBenchmark(name.c_str(), RunAttention, isa, load)->UseManualTime();
}

void RegisterAll(Isa isa) {
  for (const KvType type : {KvType::kF16, KvType::kF32, KvType::kQ8, KvType::kQ4}) {
    for (const int head_dim : {64, 128}) {
      for (const int group : {1, 4, 8}) {
        for (const int64_t length : {256, 512, 3072}) {
          Register(isa, "decode", {type, head_dim, group, 1, length});
          const int64_t tokens = std::min<int64_t>(length, 512);
          Register(isa, "prefill " + std::to_string(tokens),
                   {type, head_dim, group, tokens, length});
        }
        for (const int64_t length : {512, 3072}) {
          Load memory = {type, head_dim, group, 1, length};
          memory.caches = (int64_t{256} << 20) / KvBytes(memory);
          Register(isa, "decode from memory", memory);
        }
      }
    }
  }
}

}  // namespace
}  // namespace skald::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const char* name : {"avx2", "avx512"}) {
    const auto isa = skald::kernels::FindIsa(name);
    if (isa && isa->supported()) skald::kernels::RegisterAll(*isa);
  }
  benchmark::RunSpecifiedBenchmarks();
}
