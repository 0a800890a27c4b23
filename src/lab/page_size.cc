// What pages waste and what they save: arithmetic, and the page tables of the engine beside it.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kv/page_pool.h"
#include "kv/page_table.h"
#include "lab/experiment.h"

namespace skald::lab {
namespace {

// As many positions as an engine reserves for a request at most unless it is asked for more.
constexpr int64_t kMostContext = 4096;
// Whole contexts that the memory of the figure holds.
constexpr int64_t kContexts = 16;

int64_t ContextOf(const Bench& bench) {
  return std::min(bench.model.info().context_length, kMostContext);
}

int64_t PagesFor(int64_t length, int64_t page) { return (length + page - 1) / page; }

// Positions that texts of 1 to `context` tokens, each length once, take and do not use, on average.
double MeanWaste(int64_t context, int64_t page) {
  int64_t waste = 0;
  for (int64_t length = 1; length <= context; ++length) {
    waste += PagesFor(length, page) * page - length;
  }
  return static_cast<double>(waste) / static_cast<double>(context);
}

// The share of what they take.
double WasteShare(int64_t context, int64_t page) {
  const double mean_length = static_cast<double>(context + 1) / 2;
  const double waste = MeanWaste(context, page);
  return 100 * waste / (waste + mean_length);
}

// Lengths for which a page table of the engine takes another number of pages than arithmetic says.
int64_t CountOtherTables(int64_t context) {
  kv::PagePool pool(PagesFor(context, kernels::kPageTokens));
  int64_t others = 0;
  for (int64_t length = 1; length <= context; ++length) {
    kv::PageTable table(&pool, context);
    const bool fits = table.Reserve(length);
    others += int64_t{!fits || std::ssize(table.pages()) != PagesFor(length, kernels::kPageTokens)};
  }
  return others;
}

FigurePanel BySize(std::string title, FigureAxis y) {
  FigurePanel panel;
  panel.title = std::move(title);
  panel.x = {.label = "positions of a page", .scale = FigureScale::kLog};
  panel.y = std::move(y);
  panel.place = FigurePlace{.x = kernels::kPageTokens, .label = "this engine"};
  return panel;
}

}  // namespace

Result<LabResult> RunPageSize(const Bench& bench) {
  const int64_t context = ContextOf(bench);
  FigurePanel waste =
      BySize("Memory that is taken and not used", {.label = "% of what texts take"});
  waste.series = {{.name = "pages", .mark = FigureMark::kFault},
                  {.name = "one piece for the longest text", .mark = FigureMark::kNone}};
  FigurePanel entries = BySize("Length of a page table", {.label = "entries of the longest text",
                                                          .scale = FigureScale::kLog});
  entries.series = {{.name = "pages", .mark = FigureMark::kInput}};
  const double ahead = WasteShare(context, context);
  for (int64_t page = 1; page <= context; page *= 2) {
    const auto x = static_cast<double>(page);
    waste.series[0].points.push_back({x, WasteShare(context, page)});
    waste.series[1].points.push_back({x, ahead});
    entries.series[0].points.push_back({x, static_cast<double>(PagesFor(context, page))});
  }
  LabResult result = bench.Begin();
  result.changed = fmt::format(
      "Texts of 1 to {} tokens, each length once, are kept in pages of 1 to {} positions", context,
      context);
  result.finding = fmt::format(
      "Pages of {} positions waste {:.1f} of them a text, {:.1f} % of what is taken; one piece for "
      "the longest text wastes {:.1f} %, and pages of one position need a table of {} entries in "
      "place of {}",
      kernels::kPageTokens, MeanWaste(context, kernels::kPageTokens),
      WasteShare(context, kernels::kPageTokens), ahead, context,
      PagesFor(context, kernels::kPageTokens));
  const int64_t others = CountOtherTables(context);
  result.is_clean = others == 0 && MeanWaste(context, 1) == 0;
  result.clean = fmt::format(
      "Pages of one position waste nothing, and of {} lengths the page tables of the engine take "
      "what arithmetic says in {}",
      context, context - others);
  result.panels = {std::move(waste), std::move(entries)};
  return result;
}

FigurePanel RequestsThatFit(const Bench& bench) {
  const int64_t context = ContextOf(bench);
  const int64_t pages = kContexts * PagesFor(context, kernels::kPageTokens);
  FigurePanel panel = {
      .title =
          fmt::format("Requests that fit in the memory of {} contexts of {}", kContexts, context),
      .x = {.label = "tokens of each text", .scale = FigureScale::kLog},
      .y = {.label = "requests", .scale = FigureScale::kLog},
      .series = {{.name = "in pages", .mark = FigureMark::kInput},
                 {.name = "each in one piece for the longest text", .mark = FigureMark::kFault}}};
  for (int64_t length = 1; length <= context; length *= 2) {
    const auto x = static_cast<double>(length);
    const int64_t fit = pages / PagesFor(length, kernels::kPageTokens);
    panel.series[0].points.push_back({x, static_cast<double>(fit)});
    panel.series[1].points.push_back({x, static_cast<double>(kContexts)});
  }
  return panel;
}

}  // namespace skald::lab
