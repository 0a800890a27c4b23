#include "explain/html.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace skald::explain {
namespace {

std::string RowOf(const std::vector<std::string>& cells, std::string_view element) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) {
    row += fmt::format("<{0}>{1}</{0}>", element, HtmlText(cell));
  }
  return row + "</tr>\n";
}

}  // namespace

std::string HtmlShortToken(std::string_view token, int64_t characters) {
  size_t length = 0;
  for (int64_t i = 0; i < characters && length < token.size(); ++i) {
    length += static_cast<size_t>(ReadUtf8(token.substr(length)).length);
  }
  const bool is_cut = length < token.size();
  return HtmlToken(token.substr(0, length)) + (is_cut ? "&hellip;" : "");
}

std::string HtmlCount(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string HtmlPercent(double share) {
  return share < 0.0995 ? fmt::format("{:.1f} %", 100 * share)
                        : fmt::format("{:.0f} %", 100 * share);
}

std::string HtmlLeftOut(size_t all, size_t shown, std::string_view things) {
  if (shown >= all) return {};
  return fmt::format("<p>Of {} {} the first {} are drawn; the data of the page has all.</p>\n", all,
                     things, shown);
}

std::string HtmlJson(std::string_view json) {
  std::string out;
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string TableOf(const HtmlTable& table) {
  const std::string caption = HtmlText(table.caption);
  std::string out = fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">"
      "<table><caption>{0}</caption>\n<thead>",
      caption);
  out += RowOf(table.head, "th") + "</thead>\n<tbody>";
  for (const auto& row : table.rows) out += RowOf(row, "td");
  return out + "</tbody></table></div>\n";
}

std::string DataOf(const HtmlTable& table) {
  return "<details class=\"data\"><summary>data</summary>\n" + TableOf(table) + "</details>\n";
}

}  // namespace skald::explain
