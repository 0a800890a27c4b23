#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

// Pages that are drawn: some 2 to 4 kB each.
constexpr size_t kMostPages = 8;
// Positions of the bar of a state.
constexpr int64_t kMostStatePositions = 128;

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

// A page as the layers of one kind have it; hollow where they have let go of it.
std::string CellsOf(const Explanation& explanation, const ExplainedPage& page, bool is_left) {
  std::string out = "<ol aria-hidden=\"true\">";
  for (int64_t i = 0; i < kExplainedPagePositions; ++i) {
    out += is_left ? "<li class=\"hollow\"></li>" : CellOf(explanation, page.first_position + i);
  }
  return out + "</ol>";
}

std::string FigureOf(const Explanation& explanation, const ExplainedPage& page) {
  const ExplainedMemory& memory = explanation.memory;
  std::string out = fmt::format(
      "<figure class=\"page\"><figcaption class=\"small\">page {}, {}, from "
      "position {}</figcaption>",
      page.id, PageSourceName(page.source), page.first_position);
  if (memory.window_layers == 0) return out + CellsOf(explanation, page, false) + "</figure>\n";
  if (memory.full_layers > 0) {
    out +=
        fmt::format("<p class=\"small\">{} that {} all</p>", HtmlCount(memory.full_layers, "layer"),
                    memory.full_layers == 1 ? "keeps" : "keep") +
        CellsOf(explanation, page, false);
  }
  const std::string left =
      page.window_left ? fmt::format(", let go before step {}", *page.window_left) : "";
  return out +
         fmt::format("<p class=\"small\">{} with a window of {}{}</p>",
                     HtmlCount(memory.window_layers, "layer"), memory.window, left) +
         CellsOf(explanation, page, page.window_left.has_value()) + "</figure>\n";
}

// The state as a bar along the text: each token overwrites what the one before left; a ring where a
// copy stayed.
std::string StateFigure(const Explanation& explanation) {
  const ExplainedMemory& memory = explanation.memory;
  if (memory.state_layers == 0) return {};
  int64_t behind = 0;
  for (const ExplainedStep& step : explanation.steps) {
    behind = std::max(behind, step.first_position + step.rows);
  }
  std::string cells;
  // Its end: what is far back was overwritten as well.
  const int64_t first = std::max<int64_t>(0, behind - kMostStatePositions);
  for (int64_t position = first; position < behind; ++position) {
    const bool is_kept =
        std::ranges::find(memory.snapshots, position + 1) != memory.snapshots.end();
    const bool is_now = position + 1 == behind;
    cells += fmt::format("<li class=\"{}\">{}</li>", is_now ? "computed" : "hollow",
                         is_kept ? "&cir;" : "");
  }
  return fmt::format(
      "<figure class=\"page\"><figcaption class=\"small\">state of {}, {} bytes however "
      "long the text: each token overwrites it; &cir; a copy stayed (snapshot)</figcaption><ol "
      "aria-hidden=\"true\">{}</ol></figure>\n",
      HtmlCount(memory.state_layers, "layer"), memory.state_bytes, cells);
}

HtmlTable DataTable(const Explanation& explanation) {
  HtmlTable table = {
      "Pages and who filled them",
      {"page", "source", "from position", "cached", "computed", "free", "let go by windows"},
      {}};
  for (const ExplainedPage& page : explanation.pages) {
    int64_t cached = 0;
    int64_t computed = 0;
    for (int64_t i = 0; i < kExplainedPagePositions; ++i) {
      const std::optional<int64_t> writer = WriterOf(explanation, page.first_position + i);
      cached += int64_t{writer && *writer < 0};
      computed += int64_t{writer && *writer >= 0};
    }
    table.rows.push_back(
        {std::to_string(page.id), std::string(PageSourceName(page.source)),
         std::to_string(page.first_position), std::to_string(cached), std::to_string(computed),
         std::to_string(kExplainedPagePositions - cached - computed),
         page.window_left ? fmt::format("before step {}", *page.window_left) : std::string()});
  }
  return table;
}

HtmlTable MemoryTable(const ExplainedMemory& memory) {
  HtmlTable table = {"What layers keep of the text", {"what", "how much"}, {}};
  const auto add = [&](const char* what, int64_t count) {
    if (count > 0) table.rows.push_back({what, std::to_string(count)});
  };
  add("layers that keep K and V of all positions", memory.full_layers);
  add("layers that keep them of a window", memory.window_layers);
  add("positions that a row of these sees", memory.window);
  add("bytes of K and V of a position", memory.position_bytes);
  add("layers that carry a state", memory.state_layers);
  add("bytes of their states", memory.state_bytes);
  for (const int64_t position : memory.snapshots) add("snapshot behind token", position);
  return table;
}

}  // namespace

std::string PageSection(const Explanation& explanation) {
  const ExplainedMemory& memory = explanation.memory;
  if (explanation.pages.empty() && memory.state_layers == 0) return {};
  int64_t computed = 0;
  for (const ExplainedStep& step : explanation.steps) computed += step.rows;
  std::string out = fmt::format(
      "<section>\n<h2>The cache had {} positions, {} were computed</h2>\n<p>A square is the K and "
      "V "
      "of one position in all layers: c came from the cache, a digit is the step that computed it "
      "(its last digit). A page has {} positions.</p>\n<div class=\"pages\">\n",
      explanation.cached_tokens, computed, kExplainedPagePositions);
  const size_t shown = std::min(explanation.pages.size(), kMostPages);
  for (size_t i = 0; i < shown; ++i) out += FigureOf(explanation, explanation.pages[i]);
  out += HtmlLeftOut(explanation.pages.size(), shown, "pages");
  return out + StateFigure(explanation) + "</div>\n" + DataOf(DataTable(explanation)) +
         DataOf(MemoryTable(memory)) + "</section>\n";
}

}  // namespace skald::explain
