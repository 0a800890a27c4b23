/// Exchange: how the ranks that compute one forward pass together give each other what they have
/// computed. A rank is one of several that have some rows of each matrix, and with them some
/// columns of each product.
///
/// Floats are copied, never added: a sum stands in one rank, whole. So no bit depends on how many
/// ranks there are (docs/decisions/0029).
#pragma once

#include <cstdint>

namespace skald::ranks {

/// Rows of floats, of which a rank has computed some columns.
struct Columns {
  float* rows = nullptr;  ///< column 0 of the first
  int64_t stride = 0;     ///< floats from one row to the next
  int64_t row_count = 0;
  int64_t first = 0;  ///< column of this rank's
  int64_t count = 0;  ///< may be 0
  /// Where its columns do not stand together: as many runs of `count`, each so far from the next.
  int64_t runs = 1;
  int64_t run_stride = 0;
};

/// Which ranks take what all give.
enum class Takers : uint8_t { kAll, kFirst };

/// One rank's end of it. All ranks make the same calls in the same order, with as many rows.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Brings the columns of all other ranks to their places in the rows of this one. Returns when
  /// nobody reads what this rank has given any more.
  virtual void Gather(const Columns& own) = 0;

  /// The same for the first rank alone; the rows of the others stay as they are.
  virtual void GatherToFirst(const Columns& own) = 0;
};

}  // namespace skald::ranks
