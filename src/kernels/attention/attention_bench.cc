// Speed of attention, as a share of the float32 multiply-add peak measured in the same run, on the
// same core. What it cannot say: how fast attention is when K and V come from memory and not from
// the caches. All data here fits in L2.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kernels/isa/isa.h"
#include "kernels/peak/peak.h"

namespace skald::kernels {
namespace {

// CPU time, so that a busy machine does not lower the result.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Multiply-adds per second of one core with the registers of `isa`.
double FmaPeak(Isa isa) {
  constexpr int64_t kSteps = 4'000'000;
  double best = 0;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double start = CpuSeconds();
    const int64_t macs = PeakFor(isa).fma(kSteps);
    best = std::max(best, static_cast<double>(macs) / (CpuSeconds() - start));
  }
  return best;
}

struct Load {
  KvType type = KvType::kF16;
  int head_dim = 64;
  int group = 4;
  int64_t tokens = 1;
  int64_t length = 512;  // positions in the cache, the tokens included
};

int64_t MultiplyAdds(const Load& load) {
  int64_t visible = 0;
  for (int64_t t = 0; t < load.tokens; ++t) visible += load.length - load.tokens + t + 1;
  return visible * load.group * 2 * load.head_dim;
}

void RunAttention(benchmark::State& state, Isa isa, double peak, const Load& load) {
  const int64_t key_bytes = KeyPageBytes(load.type, load.head_dim);
  const int64_t page_bytes = key_bytes + ValuePageBytes(load.type, load.head_dim);
  const int64_t page_count = (load.length + kPageTokens - 1) / kPageTokens;
  std::vector<int32_t> pages(static_cast<size_t>(page_count));
  std::iota(pages.begin(), pages.end(), 0);
  std::mt19937 random(1);
  std::shuffle(pages.begin(), pages.end(), random);
  const auto floats = [&random](int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& x : values) x = static_cast<float>(random() % 2001) * 1e-3f - 1.0f;
    return values;
  };
  Result<AlignedBuffer> arena =
      AlignedBuffer::Create(static_cast<uint64_t>(page_count * page_bytes));
  const int64_t scratch_floats = AttentionScratchFloats(load.head_dim, load.head_dim, load.group);
  Result<AlignedBuffer> scratch = AlignedBuffer::Create(static_cast<uint64_t>(4 * scratch_floats));
  CHECK(arena.ok() && scratch.ok());
  AttentionArgs args;
  args.kv = {load.type, arena->data(), page_bytes,    0,
             key_bytes, pages.data(),  load.head_dim, load.head_dim};
  for (int64_t t = 0; t < load.length; ++t) {
    AppendKvFor(isa)(args.kv, t, floats(load.head_dim).data(), floats(load.head_dim).data());
  }
  const int64_t row = int64_t{load.group} * load.head_dim;
  const std::vector<float> query = floats(load.tokens * row);
  std::vector<float> out(query.size());
  args.query = query.data();
  args.query_stride = row;
  args.out = out.data();
  args.out_stride = row;
  args.tokens = load.tokens;
  args.first_position = load.length - load.tokens;
  args.group = load.group;
  args.scale = static_cast<float>(1 / std::sqrt(load.head_dim));
  args.scratch = scratch->As<float>().data();
  const AttentionFn attention = AttentionFor(isa);
  const double start = CpuSeconds();
  for (auto _ : state) {
    attention(args);
    benchmark::ClobberMemory();
  }
  const double seconds = CpuSeconds() - start;
  const double rate =
      static_cast<double>(MultiplyAdds(load) * static_cast<int64_t>(state.iterations())) / seconds;
  state.counters["GMAC/s"] = rate * 1e-9;
  state.counters["peak"] = peak * 1e-9;
  state.counters["share"] = rate / peak;
}

void RegisterAll(Isa isa) {
  const double peak = FmaPeak(isa);
  const auto add = [isa, peak](const std::string& name, const Load& load) {
    benchmark::RegisterBenchmark((std::string(IsaName(isa)) + "/" + name).c_str(), RunAttention,
                                 isa, peak, load);
  };
  for (const KvType type : {KvType::kF16, KvType::kF32}) {
    const std::string suffix = type == KvType::kF16 ? "/f16" : "/f32";
    add("decode/group 4/head 64" + suffix, {type, 64, 4, 1, 512});
    add("decode/group 4/head 128" + suffix, {type, 128, 4, 1, 512});
    add("decode/group 8/head 128" + suffix, {type, 128, 8, 1, 512});
    add("decode/group 7/head 64" + suffix, {type, 64, 7, 1, 512});
    add("decode/group 1/head 64" + suffix, {type, 64, 1, 1, 512});
    add("prefill 512/group 4/head 64" + suffix, {type, 64, 4, 512, 512});
    add("prefill 512/group 4/head 128" + suffix, {type, 128, 4, 512, 512});
    add("prefill 512/group 1/head 64" + suffix, {type, 64, 1, 512, 512});
    add("prefill 64 at 1024/group 4/head 64" + suffix, {type, 64, 4, 64, 1024});
  }
}

}  // namespace
}  // namespace skald::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const skald::kernels::Isa isa : {skald::kernels::Isa::kAvx2, skald::kernels::Isa::kAvx512}) {
    if (isa <= skald::kernels::DetectIsa()) skald::kernels::RegisterAll(isa);
  }
  benchmark::RunSpecifiedBenchmarks();
}
