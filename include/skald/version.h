/// The version of skald, written down here only, and what skald asks of a compiler.
///
/// Other headers include this one before they declare anything, so that an older C++ hears of it
/// first.
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error \
    "skald needs C++20: compile with -std=c++20, in CMake target_compile_features(... cxx_std_20)"
#endif

#include <string_view>

#define SKALD_VERSION_MAJOR 0
#define SKALD_VERSION_MINOR 1
#define SKALD_VERSION_PATCH 0

/// One number that grows with the version, for #if: 1002003 is 1.2.3.
#define SKALD_VERSION_NUMBER \
  (SKALD_VERSION_MAJOR * 1000000 + SKALD_VERSION_MINOR * 1000 + SKALD_VERSION_PATCH)

#define SKALD_TEXT_OF_MACRO(number) #number
#define SKALD_TEXT_OF(number) SKALD_TEXT_OF_MACRO(number)

namespace skald {

/// "1.2.3": of the headers that a program is compiled with.
inline constexpr std::string_view kVersion = SKALD_TEXT_OF(SKALD_VERSION_MAJOR) "." SKALD_TEXT_OF(
    SKALD_VERSION_MINOR) "." SKALD_TEXT_OF(SKALD_VERSION_PATCH);

}  // namespace skald

#undef SKALD_TEXT_OF
#undef SKALD_TEXT_OF_MACRO
