// How far ahead a tile of one token reads its weights: timed, where it will run.
//
// One token is where a matmul waits for memory alone. On a Xeon hints in two steps make it a fifth
// faster, on Zen 4 they make it a tenth to a fifth slower; on both, and with every instruction set,
// they help tiles of more tokens, whose loops take longer for a line than memory does.

#include <algorithm>
#include <array>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/stopwatch.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/ways.h"

namespace skald::kernels::avx512 {
namespace {

constexpr int64_t kCols = 2048;
constexpr int64_t kPanels = 8;   // of a call, some 150 KiB
constexpr int64_t kPieces = 16;  // more than 2 MiB, which come on a large page, as weights do
constexpr int kRounds = 4;

struct Trial {
  PanelType type;
  TileFn matmul;
  AlignedBuffer panels;
  AlignedBuffer tile;
  std::array<float, kPanels* kPanelRows> out = {};
};

// Behind the panels of a call is one that nobody reads: else hints at its end would help the next
// call, which tries something else.
int64_t PieceBytes(PanelType type) { return (kPanels + 1) * PanelBytes(type, kCols); }

// Memory has it then, and no cache: what a network has between two tokens.
void FlushFromCaches(const AlignedBuffer& buffer) {
  for (uint64_t at = 0; at < buffer.size(); at += 64) _mm_clflush(buffer.data() + at);
  _mm_mfence();
}

double SecondsOf(int64_t piece, const ReadAhead& ahead, Trial& trial) {
  const Stopwatch watch;
  trial.matmul({.panels = trial.panels.data() + piece * PieceBytes(trial.type),
                .panel_count = kPanels,
                .cols = kCols,
                .tile = trial.tile.data(),
                .tokens = 1,
                .out = trial.out.data(),
                .out_stride = kPanels * kPanelRows,
                .ahead = ahead});
  return watch.Seconds();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

ReadAhead FastestReadAhead(PanelType type, TileFn matmul, std::array<ReadAhead, 2> tried) {
  Result<AlignedBuffer> panels = PlainBuffer(kPieces * PieceBytes(type));
  Result<AlignedBuffer> tile = PlainBuffer(ActivationBytes(InfoOf(type).activation, kCols));
  if (!panels.ok() || !tile.ok()) return tried[0];
  Trial trial = {
      .type = type, .matmul = matmul, .panels = *std::move(panels), .tile = *std::move(tile)};
  std::array<std::vector<double>, 2> seconds;
  for (int round = 0; round < kRounds; ++round) {
    FlushFromCaches(trial.panels);
    // In turn: what a host gives of its memory changes within a second, for both alike.
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      const size_t way = static_cast<size_t>(piece + round) % tried.size();
      seconds[way].push_back(SecondsOf(piece, tried[way], trial));
    }
  }
  return Median(seconds[0]) <= Median(seconds[1]) ? tried[0] : tried[1];
}

}  // namespace skald::kernels::avx512
