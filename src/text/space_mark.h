/// U+2581, which SentencePiece vocabularies and texts write where a space stands.
#pragma once

#include <string>
#include <string_view>

namespace skald::text {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // LOWER ONE EIGHTH BLOCK

/// Appends `text` to `out` with a space for each U+2581: both mean the same.
inline void AppendWithSpaces(std::string_view text, std::string* out) {
  for (size_t mark = text.find(kSpaceMark); mark != std::string_view::npos;
       mark = text.find(kSpaceMark)) {
    out->append(text.substr(0, mark));
    out->push_back(' ');
    text.remove_prefix(mark + kSpaceMark.size());
  }
  out->append(text);
}

}  // namespace skald::text
