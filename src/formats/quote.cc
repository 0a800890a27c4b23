#include "formats/quote.h"

namespace skald::formats {

std::string Quote(std::string_view bytes, size_t bytes_max) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "'";
  for (const char c : bytes) {
    if (quoted.size() > bytes_max) {
      quoted += "'...";
      return quoted;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '\'' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      quoted += c;
    } else {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    }
  }
  quoted += "'";
  return quoted;
}

}  // namespace skald::formats
