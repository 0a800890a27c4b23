/// What fuzz targets of grammars check.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "grammar/recognizer.h"
#include "skald/grammar.h"
#include "support/cost.h"

namespace skald::grammar {

/// Whether the text may end at `row`, or a byte or a control token may follow.
inline bool IsAlive(const Form& form, const Row& row) {
  return row.accepting || NextBytes(form, row, 1).any() || !NextTokens(form, row).empty();
}

/// Reads `text` at once and byte by byte.
inline void CheckReading(const Grammar& grammar, std::string_view text) {
  const Form& form = grammar.form();
  const RowPointer first = FirstRow(form);
  const Reading whole = ReadBytes(form, first, text);
  RowPointer row = first;
  for (size_t i = 0; i < whole.taken; ++i) {
    CHECK(!row->too_complex);
    CHECK(NextBytes(form, *row)[static_cast<uint8_t>(text[i])]);
    const Reading one = ReadBytes(form, row, text.substr(i, 1));
    CHECK(one.taken == 1);
    row = one.row;
    CHECK(row->too_complex || IsAlive(form, *row));
  }
  CHECK(row->too_complex == whole.row->too_complex);
  CHECK(row->accepting == whole.row->accepting);
  if (row->too_complex || whole.taken == text.size()) return;
  CHECK(!NextBytes(form, *row)[static_cast<uint8_t>(text[whole.taken])]);
}

/// What compiling the grammar of an input may cost, by the sum of its bytes. Most find their way to
/// what takes all of the steps there are, and then a hundred are read in a second: so one in 256
/// may, and one in sixteen a part of them.
inline CompileBudget BudgetOf(std::string_view input) {
  uint8_t sum = 0;
  for (const char byte : input) sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(byte));
  CompileBudget budget;
  if (sum > 0) budget.steps /= sum % 16 == 0 ? 64 : 512;
  return budget;
}

/// `input` is a byte, a grammar, and a text of as many bytes as the lowest five bits of the first
/// one say: each costs as much as all 256 that could follow it.
template <typename Compile>
void CheckInput(std::string_view input, const Compile& compile) {
  if (input.empty()) return;
  const size_t text_bytes = std::min<size_t>(static_cast<uint8_t>(input[0]) & 31, input.size() - 1);
  const std::string_view source = input.substr(1, input.size() - 1 - text_bytes);
  std::optional<Result<Grammar>> grammar;
  CompileBudget budget = BudgetOf(input);
  const test::Cost cost = test::CostOf([&] { grammar.emplace(compile(source, &budget)); });
  CHECK(budget.steps >= 0 || !grammar->ok());
  CHECK(cost.peak_bytes < (int64_t{200} << 20));
  CHECK(cost.cpu_seconds < 10);
  if (grammar->ok())
    CheckReading(**grammar, input.substr(input.size() - text_bytes));
  else
    CHECK(!grammar->status().message().empty());
}

}  // namespace skald::grammar
