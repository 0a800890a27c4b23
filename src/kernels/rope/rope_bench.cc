// Speed of RoPE: bytes read and written per second, the heads of one token in L1, beside a pass
// that only reads as many.

#include <string>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/peak/read_share_for_test.h"
#include "kernels/rope/rope.h"

namespace skald::kernels {
namespace {

void RunRope(benchmark::State& state, Isa isa, RopePairing pairing, int64_t head_dim) {
  constexpr int64_t kHeads = 32;
  std::vector<float> x(static_cast<size_t>(kHeads * head_dim), 0.5f);
  // A rotation that keeps the size of x whatever the number of iterations: cosine 0.8, sine 0.6.
  const std::vector<float> cosine(static_cast<size_t>(head_dim / 2), 0.8f);
  const std::vector<float> sine(cosine.size(), 0.6f);
  const RopeArgs args = {.x = x.data(),
                         .heads = kHeads,
                         .head_dim = head_dim,
                         .rotated = head_dim,
                         .cosine = cosine.data(),
                         .sine = sine.data(),
                         .pairing = pairing};
  const RopeFn rope = TableFor(isa).rope;
  // x in and out; the table row of the position, head_dim floats, is read once for each head.
  RunWithReadShare(state, isa, kHeads * head_dim * 3 * 4, [&] { rope(args); });
}

void RegisterAll() {
  for (const Isa isa : AllIsas()) {
    if (!isa.supported()) continue;
    for (const int64_t head_dim : {64, 128}) {
      const std::string name = std::string(isa.name) + "/32 heads of " + std::to_string(head_dim);
      benchmark::RegisterBenchmark((name + "/adjacent").c_str(), RunRope, isa,
                                   RopePairing::kAdjacent, head_dim);
      benchmark::RegisterBenchmark((name + "/halves").c_str(), RunRope, isa, RopePairing::kHalves,
                                   head_dim);
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
