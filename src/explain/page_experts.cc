#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "explain/heat_map.h"
#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

// Cells of the grid: some 60 bytes each.
constexpr size_t kMostCells = 400;
// Experts of a cell that are named; the figure's data has all.
constexpr size_t kMostNamed = 4;

using ByLayer = std::map<int64_t, std::vector<const ExplainedExperts*>>;

ByLayer ChoicesByLayer(const Explanation& explanation) {
  ByLayer layers;
  for (const ExplainedExperts& row : explanation.experts) layers[row.layer].push_back(&row);
  return layers;
}

// Tokens that chose each expert of a layer.
std::vector<int64_t> UsesOf(const std::vector<const ExplainedExperts*>& rows) {
  std::vector<int64_t> uses(static_cast<size_t>(rows.front()->count));
  for (const ExplainedExperts* row : rows) {
    for (const int32_t expert : row->experts) ++uses[static_cast<size_t>(expert)];
  }
  return uses;
}

std::string TitleOf(const ByLayer& layers) {
  std::tuple<double, int64_t, int64_t, int64_t, int64_t> most = {-1, 0, 0, 0, 0};
  for (const auto& [layer, rows] : layers) {
    const std::vector<int64_t> uses = UsesOf(rows);
    const auto best = std::max_element(uses.begin(), uses.end());
    const double share = static_cast<double>(*best) / static_cast<double>(rows.size());
    // A layer that computed one row says nothing about tokens.
    if (rows.size() < 2 || share <= std::get<0>(most)) continue;
    most = {share, best - uses.begin(), layer, *best, std::ssize(rows)};
  }
  const auto& [share, expert, layer, count, of] = most;
  if (share < 0) return "The experts of each token";
  return fmt::format("Expert {} of layer {} is chosen by {} of {} tokens", expert, layer, count,
                     of);
}

// Layers below each other, their experts side by side, dark where many tokens went.
std::string LoadFigure(const ByLayer& layers) {
  HeatMap map;
  int64_t widest = 0;
  int64_t y = 0;
  std::string names;
  for (const auto& [layer, rows] : layers) {
    const std::vector<int64_t> uses = UsesOf(rows);
    for (size_t expert = 0; expert < uses.size(); ++expert) {
      map.Add(static_cast<int64_t>(expert), y,
              static_cast<double>(uses[expert]) / static_cast<double>(rows.size()));
    }
    names += fmt::format("<text x=\"-0.5\" y=\"{}.75\" text-anchor=\"end\">{}</text>", y, layer);
    widest = std::max(widest, std::ssize(uses));
    ++y;
  }
  constexpr int64_t kCell = 14;  // pixels
  return fmt::format(
      "<figure><figcaption class=\"small\">Share of the tokens that went to each expert: a row a "
      "layer, a column an expert, from 0</figcaption>\n<div class=\"wide\" tabindex=\"0\" "
      "role=\"region\" aria-label=\"Use of experts\"><svg class=\"map\" role=\"img\" "
      "aria-label=\"Use of experts by layer; the table below has the numbers\" width=\"{}\" "
      "height=\"{}\" viewBox=\"-4 0 {} {}\"><rect class=\"paper\" width=\"{}\" height=\"{}\"/><g "
      "class=\"mean\">{}</g>{}</svg></div></figure>\n",
      (widest + 5) * kCell, y * kCell, widest + 5, y, widest, y, map.Svg("experts"), names);
}

// The chosen of a token, the weightiest first.
std::string CellOf(const ExplainedExperts& row) {
  std::vector<std::pair<float, int32_t>> ranked;
  for (size_t i = 0; i < row.experts.size(); ++i) {
    ranked.emplace_back(-row.weights[i], row.experts[i]);
  }
  std::sort(ranked.begin(), ranked.end());
  std::string names;
  for (size_t i = 0; i < std::min(ranked.size(), kMostNamed); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : " ", ranked[i].second);
  }
  if (ranked.size() > kMostNamed) names += " &hellip;";
  const float first = -ranked.front().first;
  return fmt::format("<td class=\"bar computed\">{}<i style=\"width:{:.0f}%\"></i></td>", names,
                     100 * std::clamp(first, 0.0f, 1.0f));
}

struct Grid {
  const Explanation& explanation;
  const ByLayer& layers;
  // By layer and position.
  std::map<std::pair<int64_t, int64_t>, const ExplainedExperts*> cells = {};
  std::vector<int64_t> positions = {};
};

Grid GridOf(const Explanation& explanation, const ByLayer& layers) {
  Grid grid = {explanation, layers};
  for (const ExplainedExperts& row : explanation.experts) {
    grid.cells[{row.layer, row.position}] = &row;
    grid.positions.push_back(row.position);
  }
  std::sort(grid.positions.begin(), grid.positions.end());
  grid.positions.erase(std::unique(grid.positions.begin(), grid.positions.end()),
                       grid.positions.end());
  return grid;
}

std::string GridFigure(const Grid& grid, size_t count) {
  std::string out =
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Experts of each "
      "token\"><table><caption>Experts of each token, the weightiest first; the bar is its "
      "weight</caption>\n<thead><tr><th scope=\"col\">token</th>";
  for (const auto& [layer, rows] : grid.layers) {
    out += fmt::format("<th scope=\"col\">layer {}</th>", layer);
  }
  out += "</tr></thead>\n<tbody>";
  for (const int64_t position : std::span(grid.positions).first(count)) {
    const ExplainedToken& token = grid.explanation.tokens[static_cast<size_t>(position)];
    out += fmt::format("<tr><th scope=\"row\">{} <bdi>{}</bdi></th>", position,
                       HtmlShortToken(token.text, 12));
    for (const auto& [layer, rows] : grid.layers) {
      const auto found = grid.cells.find({layer, position});
      out += found == grid.cells.end() ? "<td class=\"cut\">not computed</td>"
                                       : CellOf(*found->second);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string UseTable(const ByLayer& layers) {
  HtmlTable table = {"Tokens that chose each expert", {"layer", "tokens", "expert: tokens"}, {}};
  for (const auto& [layer, rows] : layers) {
    const std::vector<int64_t> uses = UsesOf(rows);
    std::string list;
    for (size_t expert = 0; expert < uses.size(); ++expert) {
      if (uses[expert] == 0) continue;
      list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", expert, uses[expert]);
    }
    table.rows.push_back({std::to_string(layer), std::to_string(rows.size()), list});
  }
  return DataOf(table);
}

}  // namespace

std::string ExpertSection(const Explanation& explanation) {
  if (explanation.experts.empty()) return {};
  const ByLayer layers = ChoicesByLayer(explanation);
  const Grid grid = GridOf(explanation, layers);
  std::string out = fmt::format("<section>\n<h2>{}</h2>\n", TitleOf(layers)) + LoadFigure(layers) +
                    UseTable(layers);
  const size_t count =
      std::min(grid.positions.size(), std::max<size_t>(1, kMostCells / layers.size()));
  out += HtmlLeftOut(grid.positions.size(), count, "tokens");
  return out + GridFigure(grid, count) + "</section>\n";
}

}  // namespace skald::explain
