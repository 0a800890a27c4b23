/// Table: rows of text in aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skald::cli {

enum class Align : uint8_t { kLeft, kRight };

/// Collects rows and lays them out: two spaces between columns, no spaces at line ends. Cells are
/// made safe for a terminal (TerminalLine), so they may come from a model file.
class Table {
 public:
  /// One alignment per column.
  explicit Table(std::vector<Align> columns);

  /// Adds a row. `cells` must have one entry per column.
  void Add(const std::vector<std::string>& cells);

  /// The table, each line ending in a newline; empty if there are no rows.
  std::string Text() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace skald::cli
