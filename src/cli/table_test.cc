#include "cli/table.h"

#include <gtest/gtest.h>

namespace skald::cli {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoTrailingSpaces) {
  Table table({Align::kLeft, Align::kRight, Align::kLeft});
  table.Add({"name", "size", "path"});
  table.Add({"a", "12345", ""});
  table.Add({"longer", "1", "x"});
  EXPECT_EQ(table.Text(),
            "name     size  path\n"
            "a       12345\n"
            "longer      1  x\n");
}

TEST(Table, WithoutRowsIsEmpty) { EXPECT_EQ(Table({Align::kLeft}).Text(), ""); }

TEST(Table, CountsCharactersNotBytes) {
  Table table({Align::kLeft, Align::kLeft});
  table.Add({"\xC3\xBC\xC3\xBC", "x"});
  table.Add({"uuu", "y"});
  EXPECT_EQ(table.Text(), "\xC3\xBC\xC3\xBC   x\nuuu  y\n");
}

TEST(Table, KeepsARowOnOneLineWhateverACellHolds) {
  Table table({Align::kLeft, Align::kLeft});
  table.Add({"a\nb\x1b[2J", "x"});
  EXPECT_EQ(table.Text(), "a\\nb\\x1B[2J  x\n");
}

TEST(TableDeathTest, StopsAtARowOfTheWrongWidth) {
  Table table({Align::kLeft});
  EXPECT_DEATH(table.Add({"a", "b"}), "CHECK failed");
}

}  // namespace
}  // namespace skald::cli
