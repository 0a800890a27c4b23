#include "skald/kernel_bench.h"

#include <array>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/float_mode.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "engine/options.h"
#include "kernels/kernels.h"
#include "kernels/peak/peak.h"

namespace skald {
namespace {

// 1536 columns, a multiple of every unit; 8 panels of the largest type (F32, 96 KiB each) fit a
// second-level cache of 1 MiB.
constexpr int64_t kCols = 1536;
constexpr int64_t kPanels = 8;
// Bounds that keep typing errors out.
constexpr int64_t kRowsMax = 4096;
constexpr int kRepetitionsMax = 10000;
// The same weights and activations each time. What they are does not matter to the speed.
constexpr uint64_t kSeed = 1;

double Uniform(size_t i) { return UniformDouble({.seed = kSeed, .position = i}, 0); }

// A panel of stored weights. Of bytes from 0x20 to 0x5f halves, bfloat16, floats, powers of two and
// E4M3 are plain numbers, wherever a block has them: none is denormal, infinite or NaN, whose
// arithmetic could take longer.
std::vector<std::byte> StoredWeights(tensor::DType dtype) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  std::vector<std::byte> bytes(kernels::kPanelRows * kCols / info.block_elements *
                               info.block_bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(0x20 + static_cast<int>(0x40 * Uniform(i)));
  }
  return bytes;
}

// A matrix, activations, and where the products go.
struct Problem {
  int64_t rows = 0;
  AlignedBuffer panels;
  AlignedBuffer tiles;
  AlignedBuffer scratch;
  std::vector<float> out;

  double macs() const { return static_cast<double>(rows * kPanels * kernels::kPanelRows * kCols); }
};

void Quantize(kernels::QuantizeFn quantize, int64_t token_bytes, Problem& problem) {
  std::vector<float> x(static_cast<size_t>(problem.rows * kCols));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(2 * Uniform(i) - 1);
  for (int64_t first = 0; first < problem.rows;) {
    const int tokens = kernels::NextTileTokens(problem.rows - first);
    quantize({.x = x.data() + first * kCols,
              .x_stride = kCols,
              .tokens = tokens,
              .cols = kCols,
              .tile = problem.tiles.data() + first * token_bytes});
    first += tokens;
  }
}

Result<Problem> MakeProblem(const kernels::KernelTable& table, tensor::DType dtype, int64_t rows) {
  const kernels::PanelType type = kernels::PanelTypeFor(dtype);
  const kernels::ActivationFormat format = kernels::InfoOf(type).activation;
  const int64_t panel_bytes = kernels::PanelBytes(type, kCols);
  const int64_t token_bytes = kernels::ActivationBytes(format, kCols);
  const auto buffer = [](int64_t bytes) {
    return AlignedBuffer::Create(static_cast<uint64_t>(bytes));
  };
  Problem problem;
  problem.rows = rows;
  ASSIGN_OR_RETURN(problem.panels, buffer(kPanels * panel_bytes));
  ASSIGN_OR_RETURN(problem.tiles, buffer(rows * token_bytes));
  ASSIGN_OR_RETURN(problem.scratch, buffer(kernels::kMatmulScratchBytes));
  problem.out.resize(static_cast<size_t>(rows * kPanels * kernels::kPanelRows));
  const std::vector<std::byte> stored = StoredWeights(dtype);
  for (int64_t p = 0; p < kPanels; ++p) {
    kernels::PackPanel(dtype, stored, kernels::kPanelRows, kCols,
                       problem.panels.data() + p * panel_bytes);
  }
  Quantize(table.QuantizeOf(format), token_bytes, problem);
  return problem;
}

// Multiply-accumulates a second for a while.
double RateOf(kernels::MatmulFn matmul, Problem& problem) {
  constexpr double kSeconds = 2 * kernels::kPeakBurstSeconds;  // as long as the bursts beside it
  const Stopwatch watch;
  double seconds = 0;
  int64_t calls = 0;
  for (; seconds < kSeconds; seconds = watch.Seconds(), ++calls) {
    matmul({.panels = problem.panels.data(),
            .panel_count = kPanels,
            .cols = kCols,
            .tiles = problem.tiles.data(),
            .tokens = problem.rows,
            .out = problem.out.data(),
            .out_stride = kPanels * kernels::kPanelRows,
            .scratch = problem.scratch.data()});
  }
  return static_cast<double>(calls) * problem.macs() / seconds;
}

Resource ResourceOf(kernels::ActivationFormat format) {
  switch (format) {
    case kernels::ActivationFormat::kF32: return Resource::kFloat;
    case kernels::ActivationFormat::kBFloat16: return Resource::kBFloat16;
    case kernels::ActivationFormat::kBlock32:
    case kernels::ActivationFormat::kBlock128: return Resource::kInt8;
  }
  UNREACHABLE();
}

}  // namespace

struct KernelBench::State {
  explicit State(const kernels::Isa& isa) : table(kernels::TableFor(isa)) {}

  kernels::KernelTable table;
  ThreadPool pool{1};
  std::vector<KernelInfo> kernels;
  std::vector<tensor::DType> dtypes;  // one that each kernel holds
};

KernelBench::KernelBench(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelBench::~KernelBench() = default;
KernelBench::KernelBench(KernelBench&&) noexcept = default;
KernelBench& KernelBench::operator=(KernelBench&&) noexcept = default;

Result<KernelBench> KernelBench::Create(const std::string& isa) {
  ASSIGN_OR_RETURN(const engine::Hardware hardware, engine::ResolveHardware(1, isa));
  auto state = std::make_unique<State>(hardware.isa);
  std::array<size_t, kernels::kPanelTypeCount> kernel_of;
  kernel_of.fill(kernels::kPanelTypeCount);  // none yet
  for (const tensor::DTypeInfo& info : tensor::AllDTypes()) {
    const kernels::PanelType type = kernels::PanelTypeFor(info.dtype);
    size_t& kernel = kernel_of[static_cast<size_t>(type)];
    if (kernel < state->kernels.size()) {
      state->kernels[kernel].weights += ", " + std::string(info.name);
      continue;
    }
    kernel = state->kernels.size();
    state->kernels.push_back({.weights = std::string(info.name),
                              .resource = ResourceOf(kernels::InfoOf(type).activation),
                              .way = std::string(state->table.MatmulWayOf(type))});
    state->dtypes.push_back(info.dtype);
  }
  return KernelBench(std::move(state));
}

const std::vector<KernelInfo>& KernelBench::kernels() const { return state_->kernels; }
std::string_view KernelBench::isa_name() const { return state_->table.isa_name; }

Result<std::vector<KernelSample>> KernelBench::Measure(const KernelCase& wanted) {
  if (wanted.kernel >= state_->kernels.size() || wanted.rows < 1 || wanted.rows > kRowsMax ||
      wanted.repetitions < 1 || wanted.repetitions > kRepetitionsMax) {
    return Status(ErrorCode::kInvalidArgument,
                  "kernel " + std::to_string(wanted.kernel) + " of " +
                      std::to_string(state_->kernels.size()) + ", " + std::to_string(wanted.rows) +
                      " rows, " + std::to_string(wanted.repetitions) +
                      " repetitions; expected a kernel, 1 to " + std::to_string(kRowsMax) +
                      " rows and 1 to " + std::to_string(kRepetitionsMax) + " repetitions");
  }
  const FloatMode mode;
  const tensor::DType dtype = state_->dtypes[wanted.kernel];
  ASSIGN_OR_RETURN(Problem problem, MakeProblem(state_->table, dtype, wanted.rows));
  const kernels::MatmulFn matmul = state_->table.MatmulOf(kernels::PanelTypeFor(dtype));
  const kernels::PeakKernels& peaks = state_->table.peak;
  const Resource resource = state_->kernels[wanted.kernel].resource;
  const auto peak = [&] {
    return kernels::BurstRate(state_->pool, resource == Resource::kFloat      ? peaks.fma
                                            : resource == Resource::kBFloat16 ? peaks.bfloat16
                                                                              : peaks.dot);
  };
  RateOf(matmul, problem);  // brings everything into the cache
  std::vector<KernelSample> samples;
  double before = peak();
  for (int i = 0; i < wanted.repetitions; ++i) {
    const double rate = RateOf(matmul, problem);
    const double after = peak();
    samples.push_back({.macs_per_second = rate, .peak_macs_per_second = (before + after) / 2});
    before = after;
  }
  return samples;
}

}  // namespace skald
