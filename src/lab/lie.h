/// Lie: what a forward pass is told in place of the truth. A fault as plain data.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "skald/ids.h"

namespace skald::lab {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// Which rows of a step see each other.
enum class Sight : uint8_t {
  kCausal,  ///< as the network has it
  kAll,     ///< each sees the rows of its step behind itself, too: from 0 on, in one step
};

/// What a step has of the steps before.
enum class Past : uint8_t {
  kKept,       ///< everything
  kForgotten,  ///< nothing: each step is a text of its own
};

/// Where the pages of the text lie in memory.
enum class PageOrder : uint8_t {
  kAscending,  ///< one behind the other, as in one piece
  kDescending,
};

/// What the page table says.
enum class Table : uint8_t {
  kRight,
  kSwapped,  ///< its first two entries have changed places before the first of the rows lied to
};

/// Every part of it that is not set is the truth. Rows from `from` on are lied to, up to `until`.
struct Lie {
  int64_t from = kNever;
  int64_t until = kNever;
  /// K and V are written so many places too far, with the rotation that is right.
  int64_t write_shift = 0;
  /// Queries and keys are turned as those of the position further on by this much.
  int64_t turn_shift = 0;
  Sight sight = Sight::kCausal;
  Past past = Past::kKept;
  /// Before the first of these rows the keys of this position become random numbers.
  std::optional<int64_t> wrong_key = {};
  /// Another request, whose row of each position is written into the same pages behind ours. As
  /// many tokens as there are positions; empty: there is none.
  std::vector<TokenId> other = {};
  /// Before the first of these rows the state becomes that of so many tokens ago.
  int64_t state_age = 0;
  Table table = Table::kRight;
  PageOrder order = PageOrder::kAscending;  ///< of all rows, and no lie: nothing depends on it
};

}  // namespace skald::lab
