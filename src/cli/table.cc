#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cli/utf8.h"

namespace skald::cli {

namespace {

constexpr size_t kGap = 2;  // columns between two cells: one is too few to see where numbers end

}  // namespace

Table::Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

void Table::Add(const std::vector<std::string>& cells) {
  CHECK(cells.size() == columns_.size());
  std::vector<std::string> row;
  row.reserve(cells.size());
  for (const std::string& cell : cells) row.push_back(TerminalLine(cell));
  rows_.push_back(std::move(row));
}

std::string Table::Text() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));

  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - DisplayWidth(row[i]), ' ');
      if (i > 0) line.append(kGap, ' ');
      line += columns_[i] == Align::kLeft ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace skald::cli
