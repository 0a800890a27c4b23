#include "kernels/matmul/ways.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/stopwatch.h"

namespace skald::kernels {
namespace {

// The largest tile, where ways differ most: with one row a step waits for memory, not for a loop.
constexpr int kTokens = kTileSizes[0];
// 64 rows and 2048 columns, as the matrices of small networks have: a panel and its tile are more
// than a first-level cache holds, all of them less than a second. A call takes some 10 us.
constexpr int64_t kPanels = 4;
constexpr int64_t kCols = 2048;
// The least time of this many calls is that of the loop. What else the core does meanwhile
// (interrupts, other processes) only ever adds to a call, and seldom to all of them.
constexpr int kRounds = 16;

struct Trial {
  AlignedBuffer panels;
  AlignedBuffer tiles;
  AlignedBuffer scratch;
  std::vector<float> out;
};

Result<Trial> MakeTrial(PanelType type) {
  Result<AlignedBuffer> panels = PlainBuffer(kPanels * PanelBytes(type, kCols));
  if (!panels.ok()) return panels.status();
  Result<AlignedBuffer> tiles =
      PlainBuffer(kTokens * ActivationBytes(InfoOf(type).activation, kCols));
  if (!tiles.ok()) return tiles.status();
  Result<AlignedBuffer> scratch = PlainBuffer(kMatmulScratchBytes);
  if (!scratch.ok()) return scratch.status();
  return Trial{.panels = std::move(*panels),
               .tiles = std::move(*tiles),
               .scratch = std::move(*scratch),
               .out = std::vector<float>(kTokens * kPanels * kPanelRows)};
}

double SecondsOf(MatmulFn matmul, Trial& trial) {
  const Stopwatch watch;
  matmul({.panels = trial.panels.data(),
          .panel_count = kPanels,
          .cols = kCols,
          .tiles = trial.tiles.data(),
          .tokens = kTokens,
          .out = trial.out.data(),
          .out_stride = kPanels * kPanelRows,
          .scratch = trial.scratch.data()});
  return watch.Seconds();
}

}  // namespace

Result<AlignedBuffer> PlainBuffer(int64_t bytes) {
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(static_cast<uint64_t>(bytes));
  if (buffer.ok()) std::memset(buffer->data(), 0x40, buffer->size());
  return buffer;
}

MatmulWay FastestOf(PanelType type, std::span<const MatmulWay> ways) {
  CHECK(!ways.empty());
  if (ways.size() == 1) return ways[0];
  Result<Trial> trial = MakeTrial(type);
  if (!trial.ok()) return ways[0];
  std::vector<double> least(ways.size(), std::numeric_limits<double>::infinity());
  // In turn, so that a clock that rises or a neighbour that comes meets all of them alike.
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      least[i] = std::min(least[i], SecondsOf(ways[i].matmul, *trial));
    }
  }
  return ways[static_cast<size_t>(std::ranges::min_element(least) - least.begin())];
}

}  // namespace skald::kernels
