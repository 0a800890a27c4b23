#include "cli/tint.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace skald::cli {

std::string Paint(const std::string& text, Tint tint, Painting painting) {
  constexpr std::array<std::string_view, 6> kCodes = {"", "34", "33", "32", "35", "31"};
  if (painting == Painting::kPlain || tint == Tint::kPlain || text.empty()) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<size_t>(tint)], text);
}

}  // namespace skald::cli
