#include "kernels/matmul/code_tables.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"

namespace skald::kernels {
namespace {

// The different bytes of all entries, ascending.
template <typename Grid>
std::vector<uint8_t> LevelsOf(const Grid& grid) {
  std::array<bool, 256> used = {};
  for (const auto entry : grid) {
    for (size_t i = 0; i < sizeof(entry); ++i) used[entry >> 8 * i & 255] = true;
  }
  std::vector<uint8_t> levels;
  for (size_t byte = 0; byte < used.size(); ++byte) {
    if (used[byte]) levels.push_back(static_cast<uint8_t>(byte));
  }
  return levels;
}

// `offset` + `step` * level is what the kernels want of it.
template <typename Grid>
CodeTables Make(const Grid& grid, int offset, int step) {
  constexpr size_t kColumns = sizeof(grid[0]);
  constexpr size_t kBits = 16 / kColumns;
  const std::vector<uint8_t> levels = LevelsOf(grid);
  CHECK(levels.size() <= size_t{1} << std::min<size_t>(kBits, 3));
  CodeTables tables = {};
  for (size_t index = 0; index < grid.size(); ++index) {
    unsigned codes = 0;
    for (size_t i = 0; i < kColumns; ++i) {
      const auto byte = static_cast<uint8_t>(grid[index] >> 8 * i);
      const auto level = std::ranges::lower_bound(levels, byte) - levels.begin();
      codes |= static_cast<unsigned>(level) << kBits * i;
    }
    for (size_t half = 0; half < 2; ++half) {
      tables.halves[half][index] = static_cast<uint8_t>(codes >> 8 * half);
    }
  }
  // Of 4 bits a level has 3: a byte of two numbers, shifted by one of them, has others above.
  const size_t count = size_t{1} << std::min<size_t>(kBits, 3);
  for (size_t i = 0; i < std::size(tables.levels); ++i) {
    const size_t level = std::min(i % count, levels.size() - 1);
    tables.levels[i] = static_cast<uint8_t>(offset + step * levels[level]);
  }
  return tables;
}

}  // namespace

const CodeTables& CodeTablesOf(Codebook book) {
  // Constants, but of tables that are defined elsewhere: hence made once.
  static const std::array<CodeTables, 6> all = {
      Make(tensor::kIQ2XXSGrid, 64, 1), Make(tensor::kIQ2XSGrid, 64, 1),
      Make(tensor::kIQ2SGrid, 64, 1),   Make(tensor::kIQ3XXSGrid, 64, 1),
      Make(tensor::kIQ3SGrid, 64, 1),   Make(tensor::kIQ1Grid, 9, 8),
  };
  return all[static_cast<size_t>(book)];
}

}  // namespace skald::kernels
