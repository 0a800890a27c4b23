// Speed of RMSNorm: bytes read and written per second, the rows in L1 or L2, beside a pass that
// only reads as many. The two passes over a row count as two reads of x.

#include <string>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/norm/norm.h"
#include "kernels/peak/read_share_for_test.h"

namespace skald::kernels {
namespace {

void RunRmsNorm(benchmark::State& state, Isa isa, int64_t n) {
  const std::vector<float> x(static_cast<size_t>(n), 0.5f);
  const std::vector<float> weight(x.size(), 1.5f);
  std::vector<float> y(x.size());
  RmsNormArgs args;
  args.x = x.data();
  args.weight = weight.data();
  args.y = y.data();
  args.rows = 1;
  args.n = n;
  args.eps = 1e-5f;
  const RmsNormFn rms_norm = TableFor(isa).rms_norm;
  RunWithReadShare(state, isa, n * 4 * 4, [&] { rms_norm(args); });
}

void RegisterAll() {
  for (const int64_t n : {576, 2048, 4096}) {
    for (const Isa isa : AllIsas()) {
      if (!isa.supported()) continue;
      const std::string name = "rms_norm/" + std::string(isa.name) + "/" + std::to_string(n);
      benchmark::RegisterBenchmark(name.c_str(), RunRmsNorm, isa, n);
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
