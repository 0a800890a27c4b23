/// The codebooks as tables of bytes: what permutations of bytes look up (codebooks_avx512.cc).
#pragma once

#include <cstdint>

#include "kernels/pack/unit_layout.h"

namespace skald::kernels {

/// Entries the most a codebook has.
inline constexpr int kMaxEntries = 2048;

/// A codebook knows few levels, so an entry fits two bytes, one for each half of its columns: of 4
/// columns (kIQ3XXS, kIQ3S) the number of a level has 4 bits, of 8 columns 2 bits, the first column
/// lowest.
struct CodeTables {
  alignas(64) uint8_t halves[2][kMaxEntries];  ///< [half][index]
  /// The levels as the kernels want them: with the offset of the unpacked weights, of kIQ1 with a
  /// positive shift. A look-up has 6 bits; those above the number of a level do not matter.
  alignas(64) uint8_t levels[64];
};

/// Those of a codebook: made when it is first asked for (20 us). Any thread.
const CodeTables& CodeTablesOf(Codebook book);

}  // namespace skald::kernels
