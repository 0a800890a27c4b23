/// CharacterPlot: a panel of a figure in plain characters, the same in every terminal and file.
#pragma once

#include <cstdint>
#include <string>

#include "cli/tint.h"
#include "skald/figure.h"

namespace skald::cli {

/// How large the frame is, in characters.
struct PlotSize {
  int64_t columns = 72;
  int64_t rows = 8;
};

/// Title, a character for each line with its name, the frame with the largest and the least value
/// of both axes, and below it the place, where the panel has one. A column that stands for several
/// points shows the largest of them. Ends with a newline. What stands in names is made safe for a
/// terminal.
std::string CharacterPlot(const FigurePanel& panel, const PlotSize& size, Painting painting);

}  // namespace skald::cli
