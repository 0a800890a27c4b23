/// The style of the pages of skald: the four meanings of colour, light and dark, on paper.
#pragma once

#include <string>

namespace skald::explain {

/// A style sheet, with the palette of all figures. A grid of 8 pixels.
std::string PageStyle();

}  // namespace skald::explain
