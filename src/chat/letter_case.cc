#include "chat/letter_case.h"

#include <cstdint>

namespace skald::chat {

namespace {

// Upper case letters from `first` to `last`. Stride 1: lower case is `distance` further. Stride 2:
// upper and lower alternate, from an upper one.
struct CaseRange {
  char32_t first;
  char32_t last;
  int32_t distance;
  int32_t stride;
};

// Source: Unicode 15, UnicodeData.txt, simple mappings.
constexpr CaseRange kRanges[] = {
    {0x41, 0x5A, 32, 1},     {0xC0, 0xD6, 32, 1},   {0xD8, 0xDE, 32, 1},    {0x100, 0x12E, 1, 2},
    {0x132, 0x136, 1, 2},    {0x139, 0x147, 1, 2},  {0x14A, 0x176, 1, 2},   {0x178, 0x178, -121, 1},
    {0x179, 0x17D, 1, 2},    {0x1CD, 0x1DB, 1, 2},  {0x1DE, 0x1EE, 1, 2},   {0x1F8, 0x21E, 1, 2},
    {0x222, 0x232, 1, 2},    {0x386, 0x386, 38, 1}, {0x388, 0x38A, 37, 1},  {0x38C, 0x38C, 64, 1},
    {0x38E, 0x38F, 63, 1},   {0x391, 0x3A1, 32, 1}, {0x3A3, 0x3AB, 32, 1},  {0x400, 0x40F, 80, 1},
    {0x410, 0x42F, 32, 1},   {0x460, 0x480, 1, 2},  {0x48A, 0x4BE, 1, 2},   {0x4C1, 0x4CD, 1, 2},
    {0x4D0, 0x52E, 1, 2},    {0x531, 0x556, 48, 1}, {0x1E00, 0x1E94, 1, 2}, {0x1EA0, 0x1EFE, 1, 2},
    {0xFF21, 0xFF3A, 32, 1},
};

}  // namespace

char32_t ToLower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  for (const CaseRange& range : kRanges) {
    if (c < range.first || c > range.last) continue;
    if (range.stride == 2 && (c - range.first) % 2 != 0) continue;
    return static_cast<char32_t>(static_cast<int32_t>(c) + range.distance);
  }
  return c;
}

char32_t ToUpper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  constexpr char32_t kFinalSigma = 0x3C2;
  if (c == kFinalSigma) return 0x3A3;
  if (c == 0xB5) return 0x39C;  // the micro sign
  for (const CaseRange& range : kRanges) {
    const auto upper = static_cast<char32_t>(static_cast<int32_t>(c) - range.distance);
    if (upper < range.first || upper > range.last) continue;
    if (range.stride == 2 && (upper - range.first) % 2 != 0) continue;
    return upper;
  }
  return c;
}

}  // namespace skald::chat
