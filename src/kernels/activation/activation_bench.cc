// Speed of SwiGLU and of addition: bytes read and written per second, a row in L1 or L2, beside a
// pass that only reads as many. SwiGLU computes an exponential for each element and stays below.

#include <string>
#include <vector>

#include "kernels/activation/activation.h"
#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/peak/read_share_for_test.h"

namespace skald::kernels {
namespace {

void RunSwiglu(benchmark::State& state, Isa isa, int64_t n) {
  const std::vector<float> gate(static_cast<size_t>(n), 0.5f);
  const std::vector<float> up(gate.size(), 1.5f);
  std::vector<float> y(gate.size());
  const SwigluFn swiglu = TableFor(isa).swiglu;
  RunWithReadShare(state, isa, n * 3 * 4, [&] { swiglu(gate.data(), up.data(), y.data(), n); });
}

void RunAdd(benchmark::State& state, Isa isa, int64_t n) {
  const std::vector<float> x(static_cast<size_t>(n), 1e-3f);
  std::vector<float> y(x.size());
  const AddFn add = TableFor(isa).add;
  RunWithReadShare(state, isa, n * 3 * 4, [&] { add(x.data(), y.data(), n); });
}

void RegisterAll() {
  for (const Isa isa : AllIsas()) {
    if (!isa.supported()) continue;
    for (const int64_t n : {2048, 8192}) {
      const std::string name = std::string(isa.name) + "/" + std::to_string(n);
      benchmark::RegisterBenchmark((name + "/swiglu").c_str(), RunSwiglu, isa, n);
      benchmark::RegisterBenchmark((name + "/add").c_str(), RunAdd, isa, n);
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
