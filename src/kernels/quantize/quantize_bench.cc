// Speed of preparing activations: bytes of floats read and of tiles written per second, a tile of
// 16 tokens in L2, beside a pass that only reads as many.

#include <array>
#include <random>
#include <string>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/peak/read_share_for_test.h"
#include "kernels/quantize/quantize.h"
#include "kernels/test_data.h"

namespace skald::kernels {
namespace {

void RunQuantize(benchmark::State& state, Isa isa, ActivationFormat format) {
  constexpr int64_t kCols = 1536;
  std::mt19937 random(1);
  std::vector<float> x(kTileTokens * kCols);
  for (float& value : x) value = RandomFloat(random);
  std::vector<std::byte> tile(static_cast<size_t>(kTileTokens * ActivationBytes(format, kCols)));
  const QuantizeArgs args = {
      .x = x.data(), .x_stride = kCols, .tokens = kTileTokens, .cols = kCols, .tile = tile.data()};
  const QuantizeFn quantize = TableFor(isa).QuantizeOf(format);
  RunWithReadShare(state, isa, static_cast<int64_t>(x.size() * 4 + tile.size()),
                   [&] { quantize(args); });
}

void RegisterAll() {
  const std::array<const char*, kActivationFormatCount> names = {"f32", "block32", "block128",
                                                                 "bfloat16"};
  for (const Isa isa : AllIsas()) {
    if (!isa.supported()) continue;
    for (size_t f = 0; f < names.size(); ++f) {
      const std::string name = "quantize/" + std::string(isa.name) + "/" + names[f];
      benchmark::RegisterBenchmark(name.c_str(), RunQuantize, isa,
                                   static_cast<ActivationFormat>(f));
    }
  }
}

}  // namespace
}  // namespace skald::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  skald::kernels::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
