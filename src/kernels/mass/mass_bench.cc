// Speed of weighing a row of logits in L2: tokens per second, and the share of the speed at which
// the same registers read them.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/mass/mass.h"
#include "kernels/peak/read_share_for_test.h"

namespace skald::kernels {
namespace {

void RunMass(benchmark::State& state, Isa isa, int64_t n) {
  std::vector<float> logits(static_cast<size_t>(n));
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = -static_cast<float>(i % 1000) * 0.02f;
  std::vector<uint64_t> masses(logits.size());
  const MassFn mass = TableFor(isa).mass;
  RunWithReadShare(state, isa, n * 12, [&] {
    mass({logits.data(), n, 0.0f, 1 / 0.8, masses.data()});
  });
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * n);
}

void RegisterAll() {
  for (const Isa& isa : AllIsas()) {
    if (!isa.supported()) continue;
    const std::string name = "mass/" + std::string(isa.name) + "/32000";
    benchmark::RegisterBenchmark(name.c_str(), RunMass, isa, 32000);
  }
}

}  // namespace
}  // namespace skald::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  skald::kernels::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
