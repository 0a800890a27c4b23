/// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace skald::cli {

/// The entry of `known` that `word` most likely meant: the fewest typing errors (a character
/// too many, missing, wrong, or swapped with its neighbour) away: at most one for each three
/// characters, but at least one. The first of several. Empty if there is none. Words over 64
/// characters are not considered.
std::string Nearest(std::string_view word, std::span<const std::string> known);

}  // namespace skald::cli
