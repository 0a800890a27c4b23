/// Html: pieces of an HTML document. Text gets into it by HtmlText and HtmlToken (figure/markup.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "figure/markup.h"

namespace skald::explain {

using figure::HtmlText;
using figure::HtmlToken;

/// The same of a token's first `characters` characters, with an ellipsis where there are more.
std::string HtmlShortToken(std::string_view token, int64_t characters);

/// "1 token", "2 tokens".
std::string HtmlCount(int64_t count, std::string_view what);

/// "12 %", with a decimal below a tenth.
std::string HtmlPercent(double share);

/// A sentence that says that only the first `shown` of `all` things are drawn; nothing where these
/// are all. `things`: "steps".
std::string HtmlLeftOut(size_t all, size_t shown, std::string_view things);

/// JSON for the inside of a script element: no < stands in it, so that nothing in it ends it.
std::string HtmlJson(std::string_view json);

/// A table for people who read figures as numbers: `head` and `rows` are text, made safe here. It
/// can be scrolled by keyboard where it is wider than the page.
struct HtmlTable {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
std::string TableOf(const HtmlTable& table);

/// A table that is shown when somebody asks for it.
std::string DataOf(const HtmlTable& table);

}  // namespace skald::explain
