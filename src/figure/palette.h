/// Palette: the meanings of colour as variables of a style sheet, on light paper and on dark.
///
/// Blue is input or cached, amber computed, green a result, purple an aggregate, red a fault; grey
/// is not there, and `none` lies behind it. A colour and what it stands on (`-on`) have a contrast
/// of 4.5 at least.
#pragma once

#include <string_view>

namespace skald::figure {

inline constexpr std::string_view kLightPalette = R"(
  --ink: #1b1f24; --paper: #ffffff; --rule: #d8dde3; --grey: #5c6670; --none: #f1f3f5;
  --blue: #1f5fbf; --blue-on: #e8f0fc; --amber: #8a5a00; --amber-on: #fdf1dc;
  --green: #17663a; --green-on: #e3f5ea; --purple: #6b3fa0; --purple-on: #f1eafa;
  --red: #a32020; --red-on: #fbe9e9;)";

inline constexpr std::string_view kDarkPalette = R"(
  --ink: #e6e9ed; --paper: #14171b; --rule: #3a4149; --grey: #a3adb8; --none: #1d2228;
  --blue: #8fb8f2; --blue-on: #1a2536; --amber: #e0b25c; --amber-on: #2b2418;
  --green: #7fd0a0; --green-on: #182a20; --purple: #bfa3e6; --purple-on: #251f30;
  --red: #f2a0a0; --red-on: #331c1c;)";

}  // namespace skald::figure
