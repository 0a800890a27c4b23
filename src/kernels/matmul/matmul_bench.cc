// Speed of the matmul kernels on one core, weights in L2, as a share of what the core can do.
//
// Goals: what the arithmetic of a panel type costs, by tile size, beside the peak of the
// instruction it is built on, measured in the same run. Non-goals: memory bandwidth and whole
// models; those need a quiet machine with more than one thread.
//
//   GMAC/s       multiply-accumulates per second
//   peak         the int8 dot product (vpdpbusd; vpmaddubsw + vpmaddwd without VNNI) or the fma
//                rate of the same width, operands in registers

#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "kernels/isa/cpu.h"
#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/variants.h"
#include "kernels/pack/panel.h"
#include "kernels/peak/peak.h"
#include "kernels/quantize/quantize.h"
#include "kernels/test_data.h"

namespace skald::kernels {
namespace {

constexpr int64_t kPeakSteps = 4096;

using PeakFn = int64_t (*)(int64_t steps);

void RunPeak(benchmark::State& state, PeakFn peak) {
  int64_t macs = 0;
  for (auto _ : state) macs += peak(kPeakSteps);
  state.counters["GMAC/s"] =
      benchmark::Counter(static_cast<double>(macs) * 1e-9, benchmark::Counter::kIsRate);
}

// Where the weights come from. 1536 columns: 8 panels of the largest type (kF32, 96 KiB each) fit
// an L2 of 1 MiB; from memory, 512 MiB are more than any cache holds.
constexpr int64_t kCols = 1536;
constexpr int64_t kCachedPanels = 8;
constexpr int64_t kMemoryBytes = int64_t{512} << 20;
enum class Source { kCache, kMemory };

struct MatmulCase {
  MatmulFn matmul;
  tensor::DType dtype;
  int tokens;
  Source source;
};

void RunMatmul(benchmark::State& state, const MatmulCase& test) {
  const auto [matmul, dtype, tokens, from] = test;
  std::mt19937 random(1);
  const PanelType type = PanelTypeFor(dtype);
  const int64_t panel_bytes = PanelBytes(type, kCols);
  const int64_t panel_count = from == Source::kCache ? kCachedPanels : kMemoryBytes / panel_bytes;
  const std::vector<std::byte> source = RandomBlocks(dtype, kPanelRows * kCols, random);
  Result<AlignedBuffer> panels =
      AlignedBuffer::Create(static_cast<uint64_t>(panel_count * panel_bytes));
  const ActivationFormat format = InfoOf(type).activation;
  const int64_t token_bytes = ActivationBytes(format, kCols);
  Result<AlignedBuffer> tiles = AlignedBuffer::Create(static_cast<uint64_t>(tokens * token_bytes));
  Result<AlignedBuffer> scratch = AlignedBuffer::Create(kMatmulScratchBytes);
  CHECK(panels.ok() && tiles.ok() && scratch.ok());
  for (int64_t p = 0; p < panel_count; ++p) {
    PackPanel(dtype, source, kPanelRows, kCols, panels->data() + p * panel_bytes);
  }
  std::vector<float> x(tokens * kCols);
  for (float& value : x) value = RandomFloat(random);
  for (int first = 0; first < tokens; first += NextTileTokens(tokens - first)) {
    TableFor(ScalarIsa())
        .QuantizeOf(format)({.x = x.data() + first * kCols,
                             .x_stride = kCols,
                             .tokens = NextTileTokens(tokens - first),
                             .cols = kCols,
                             .tile = tiles->data() + first * token_bytes});
  }
  std::vector<float> out(tokens * panel_count * kPanelRows);
  for (auto _ : state) {
    matmul({.panels = panels->data(),
            .panel_count = panel_count,
            .cols = kCols,
            .tiles = tiles->data(),
            .tokens = tokens,
            .out = out.data(),
            .out_stride = panel_count * kPanelRows,
            .scratch = scratch->data()});
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  const double macs =
      static_cast<double>(state.iterations() * tokens * panel_count * kPanelRows * kCols);
  state.counters["GMAC/s"] = benchmark::Counter(macs * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * panel_count * panel_bytes) * 1e-9,
                         benchmark::Counter::kIsRate);
}

// One pass over as much memory.
void RunRead(benchmark::State& state, Isa isa) {
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(kMemoryBytes);
  CHECK(buffer.ok());
  std::memset(buffer->data(), 1, buffer->size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(TableFor(isa).peak.read(buffer->data(), kMemoryBytes));
  }
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kMemoryBytes) * 1e-9, benchmark::Counter::kIsRate);
}

void RegisterTokens(const std::string& variant, MatmulFn matmul, tensor::DType dtype) {
  for (const int tokens : {1, 2, 4, 8, 16, 64, 512}) {
    const std::string name = "matmul/" + variant + "/" + std::string(tensor::InfoOf(dtype).name) +
                             "/" + std::to_string(tokens);
    benchmark::RegisterBenchmark(name.c_str(), RunMatmul,
                                 MatmulCase{matmul, dtype, tokens, Source::kCache});
    if (tokens > 8) continue;
    benchmark::RegisterBenchmark((name + "/memory").c_str(), RunMatmul,
                                 MatmulCase{matmul, dtype, tokens, Source::kMemory});
  }
}

void RegisterMatmul(Isa isa) {
  // One stored type for each panel type.
  using tensor::DType;
  for (const DType dtype :
       {DType::kF32,    DType::kF16,     DType::kBF16,  DType::kQ8_0,    DType::kQ5_0,
        DType::kQ5_1,   DType::kQ4_0,    DType::kQ4_1,  DType::kMXFP4,   DType::kQ2_K,
        DType::kQ3_K,   DType::kQ4_K,    DType::kQ5_K,  DType::kQ6_K,    DType::kIQ4_NL,
        DType::kIQ4_XS, DType::kIQ3_XXS, DType::kIQ3_S, DType::kIQ2_XXS, DType::kIQ2_S,
        DType::kIQ1_S,  DType::kTQ2_0,   DType::kQ1_0,  DType::kNVFP4}) {
    RegisterTokens(std::string(isa.name), TableFor(isa).MatmulOf(PanelTypeFor(dtype)), dtype);
  }
}

// The ways of AVX-512, of which the fastest is chosen.
void RegisterWays() {
  if (!CpuHasAvx2() || !CpuHasAvx512()) return;
  using tensor::DType;
  for (const DType dtype :
       {DType::kBF16, DType::kQ8_0, DType::kQ5_0, DType::kQ4_0, DType::kQ4_1, DType::kMXFP4,
        DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL,
        DType::kIQ4_XS, DType::kIQ3_XXS, DType::kIQ3_S, DType::kIQ2_XXS, DType::kIQ2_XS,
        DType::kIQ2_S, DType::kIQ1_S}) {
    for (const MatmulWay& way : avx512::WaysOf(PanelTypeFor(dtype))) {
      RegisterTokens("avx512 " + std::string(way.name), way.matmul, dtype);
    }
  }
  for (const DType dtype : {DType::kQ3_K, DType::kQ6_K}) {
    for (const MatmulWay& way : avx512::UnpackedWays(PanelTypeFor(dtype))) {
      RegisterTokens("avx512 unpacked, " + std::string(way.name), way.matmul, dtype);
    }
  }
  // Not among the ways of a CPU that has the dots.
  RegisterTokens("avx512_fma", avx512::MatmulBFloat16ByFma, DType::kBF16);
}

void RegisterAll() {
  for (const Isa& isa : AllIsas()) {
    if (!isa.supported()) continue;
    const std::string name = "peak/" + std::string(isa.name);
    benchmark::RegisterBenchmark((name + "/dot").c_str(), RunPeak, TableFor(isa).peak.dot);
    benchmark::RegisterBenchmark((name + "/fma").c_str(), RunPeak, TableFor(isa).peak.fma);
    benchmark::RegisterBenchmark((name + "/read").c_str(), RunRead, isa);
    RegisterMatmul(isa);
  }
  RegisterWays();
}

}  // namespace
}  // namespace skald::kernels

int main(int argc, char** argv) {
  skald::kernels::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
