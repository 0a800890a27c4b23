// Speed of packing, by stored type: bytes of the file per second, one panel of 16 rows in L1 or L2,
// beside a pass of the widest registers that only reads as many. Packing is plain code, the same on
// every machine. "finite" is the check for NaN beside it.

#include <random>
#include <string>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/pack/finite.h"
#include "kernels/pack/panel.h"
#include "kernels/peak/read_share_for_test.h"
#include "kernels/test_data.h"

namespace skald::kernels {
namespace {

constexpr int64_t kCols = 2048;

std::vector<std::byte> Panel(tensor::DType dtype) {
  std::mt19937 random(1);
  return RandomBlocks(dtype, kPanelRows * kCols, random);
}

void RunPack(benchmark::State& state, tensor::DType dtype) {
  const std::vector<std::byte> source = Panel(dtype);
  std::vector<std::byte> panel(static_cast<size_t>(PanelBytes(PanelTypeFor(dtype), kCols)));
  RunWithReadShare(state, DetectIsa(), static_cast<int64_t>(source.size()),
                   [&] { PackPanel(dtype, source, kPanelRows, kCols, panel.data()); });
}

void RunFinite(benchmark::State& state, tensor::DType dtype) {
  const std::vector<std::byte> source = Panel(dtype);
  RunWithReadShare(state, DetectIsa(), static_cast<int64_t>(source.size()),
                   [&] { benchmark::DoNotOptimize(AllFinite(dtype, source)); });
}

void RegisterAll() {
  for (const tensor::DTypeInfo& info : tensor::AllDTypes()) {
    const std::string name(info.name);
    benchmark::RegisterBenchmark(("pack/" + name).c_str(), RunPack, info.dtype);
    benchmark::RegisterBenchmark(("finite/" + name).c_str(), RunFinite, info.dtype);
  }
}

}  // namespace
}  // namespace skald::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  skald::kernels::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
