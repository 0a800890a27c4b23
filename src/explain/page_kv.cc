#include <fmt/format.h>

#include <optional>

#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

// Who put K and V of a position there: -1 the cache, else the step; nothing: nobody yet.
std::optional<int64_t> WriterOf(const Explanation& explanation, int64_t position) {
  if (position < explanation.cached_tokens) return -1;
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainedStep& step = explanation.steps[i];
    const int64_t offset = position - step.first_position;
    if (offset >= 0 && offset < step.rows) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

std::string CellOf(const Explanation& explanation, int64_t position) {
  const std::optional<int64_t> writer = WriterOf(explanation, position);
  if (!writer) return "<li class=\"free\"></li>";
  if (*writer < 0) {
    return fmt::format("<li class=\"cached\" title=\"position {}: cached\">c</li>", position);
  }
  // One digit of the step: its colour alone says little in print.
  return fmt::format("<li class=\"computed\" title=\"position {}: step {}\">{}</li>", position,
                     *writer, *writer % 10);
}

std::string FigureOf(const Explanation& explanation, const ExplainedPage& page) {
  std::string out = fmt::format(
      "<figure class=\"page\"><figcaption class=\"small\">page {}, {}, from "
      "position {}</figcaption><ol aria-hidden=\"true\">",
      page.id, PageSourceName(page.source), page.first_position);
  for (int64_t i = 0; i < kExplainedPagePositions; ++i) {
    out += CellOf(explanation, page.first_position + i);
  }
  return out + "</ol></figure>\n";
}

HtmlTable DataTable(const Explanation& explanation) {
  HtmlTable table = {"Pages and who filled them",
                     {"page", "source", "from position", "cached", "computed", "free"},
                     {}};
  for (const ExplainedPage& page : explanation.pages) {
    int64_t cached = 0;
    int64_t computed = 0;
    for (int64_t i = 0; i < kExplainedPagePositions; ++i) {
      const std::optional<int64_t> writer = WriterOf(explanation, page.first_position + i);
      cached += int64_t{writer && *writer < 0};
      computed += int64_t{writer && *writer >= 0};
    }
    table.rows.push_back({std::to_string(page.id), std::string(PageSourceName(page.source)),
                          std::to_string(page.first_position), std::to_string(cached),
                          std::to_string(computed),
                          std::to_string(kExplainedPagePositions - cached - computed)});
  }
  return table;
}

}  // namespace

std::string PageSection(const Explanation& explanation) {
  if (explanation.pages.empty()) return {};
  int64_t computed = 0;
  for (const ExplainedStep& step : explanation.steps) computed += step.rows;
  std::string out = fmt::format(
      "<section>\n<h2>The cache had {} positions, {} were computed</h2>\n<p>A square is the K and "
      "V "
      "of one position in all layers: c came from the cache, a digit is the step that computed it "
      "(its last digit). A page has {} positions.</p>\n<div class=\"pages\">\n",
      explanation.cached_tokens, computed, kExplainedPagePositions);
  for (const ExplainedPage& page : explanation.pages) out += FigureOf(explanation, page);
  return out + "</div>\n" + DataOf(DataTable(explanation)) + "</section>\n";
}

}  // namespace skald::explain
