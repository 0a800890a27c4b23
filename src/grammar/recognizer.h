/// The recogniser: from one row of a text to the next.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "grammar/form.h"
#include "grammar/row.h"
#include "skald/ids.h"

namespace skald::grammar {

using RowPointer = std::shared_ptr<const Row>;

/// The row before any byte.
RowPointer FirstRow(const Form& form);

/// What reading some bytes came to.
struct Reading {
  RowPointer row;  ///< behind the last byte that was taken
  /// Bytes read. Fewer than all: the next one is not allowed, or row->too_complex behind the last.
  size_t taken;
};

/// Reads `bytes` from `row` on. Inside of a leaf a byte is one look-up and makes no row. At most
/// kRowSteps steps a byte. Where a row is too complex, reading ends.
Reading ReadBytes(const Form& form, const RowPointer& row, std::string_view bytes);

/// The row behind one byte, or null if it may not follow.
RowPointer NextRow(const Form& form, const Row& row, uint8_t byte);

/// The row behind one control token, or null if it may not follow.
RowPointer RowBehindToken(const Form& form, const Row& row, TokenId token);

/// The control tokens that may follow `row`, in no order; one may be there twice.
std::vector<TokenId> NextTokens(const Form& form, const Row& row);

/// The row where `item` is all that bytes have led to.
RowPointer RowOf(const Form& form, const Item& item);

/// The row where the rule of `context` is finished, and nothing else is alive.
RowPointer RowBehind(const Form& form, const Context* context);

/// The bytes that may follow `row`; of more than `enough`, at least so many.
std::bitset<256> NextBytes(const Form& form, const Row& row, size_t enough = 256);

}  // namespace skald::grammar
