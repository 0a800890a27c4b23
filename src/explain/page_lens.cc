#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

// Cells of the figure: some 100 bytes each.
constexpr size_t kMostCells = 240;

// The steps with a lens, by their number.
std::vector<size_t> StepsWithLens(const Explanation& explanation) {
  std::vector<size_t> steps;
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    if (!explanation.steps[i].lens.empty()) steps.push_back(i);
  }
  return steps;
}

// The layer from which on the drawn token is the best; as many as there are: never.
size_t SettledAt(const ExplainedStep& step) {
  size_t row = step.lens.size();
  while (row > 0 && step.lens[row - 1].best == step.drawn) --row;
  return row;
}

// What a reader asks first: how deep the answer is known.
std::string TitleOf(const Explanation& explanation, const std::vector<size_t>& steps) {
  std::vector<size_t> settled;
  for (const size_t step : steps) settled.push_back(SettledAt(explanation.steps[step]));
  std::sort(settled.begin(), settled.end());
  const std::vector<ExplainedLens>& layers = explanation.steps[steps.front()].lens;
  const size_t median = settled[(settled.size() - 1) / 2];
  if (median == layers.size()) return "Most drawn tokens are not the best of the last layer";
  return fmt::format("{} the best from layer {} on, of layers {} to {}",
                     steps.size() == 1 ? "The drawn token is" : "Half of the drawn tokens are",
                     layers[median].layer, layers.front().layer, layers.back().layer);
}

std::string HeadRow(const Explanation& explanation, const std::vector<size_t>& steps) {
  std::string row = "<tr><th scope=\"col\">layer</th>";
  for (const size_t step : steps) {
    const ExplainedStep& of = explanation.steps[step];
    const auto next = static_cast<size_t>(of.first_position + of.rows);
    row += fmt::format("<th scope=\"col\">step {}: <bdi class=\"drawn\">{}</bdi></th>", step,
                       HtmlShortToken(explanation.tokens[next].text, 12));
  }
  return row + "</tr>";
}

std::string CellOf(const ExplainedLens& lens, TokenId drawn) {
  return fmt::format("<td class=\"bar {}\"><bdi>{}</bdi> {}<i style=\"width:{:.0f}%\"></i></td>",
                     lens.best == drawn ? "drawn" : "computed", HtmlShortToken(lens.text, 12),
                     HtmlPercent(lens.probability), 100 * lens.probability);
}

std::string Figure(const Explanation& explanation, const std::vector<size_t>& steps) {
  std::string out =
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Logit lens\"><table>"
      "<caption>The token that the model would give behind each layer, and its probability; green "
      "where it is the one that was drawn</caption>\n<thead>" +
      HeadRow(explanation, steps) + "</thead>\n<tbody>";
  for (size_t row = 0; row < explanation.steps[steps.front()].lens.size(); ++row) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>",
                       explanation.steps[steps.front()].lens[row].layer);
    for (const size_t step : steps) {
      const ExplainedStep& of = explanation.steps[step];
      out += CellOf(of.lens[row], of.drawn);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

// The rest of the numbers: how likely the drawn token was all the while.
std::string DrawnTable(const Explanation& explanation, const std::vector<size_t>& steps) {
  HtmlTable table = {"Probability of the token that was drawn, behind each layer", {"layer"}, {}};
  for (const size_t step : steps) table.head.push_back(fmt::format("step {}", step));
  for (size_t row = 0; row < explanation.steps[steps.front()].lens.size(); ++row) {
    std::vector<std::string> cells = {
        std::to_string(explanation.steps[steps.front()].lens[row].layer)};
    for (const size_t step : steps) {
      cells.push_back(HtmlPercent(explanation.steps[step].lens[row].drawn_probability));
    }
    table.rows.push_back(std::move(cells));
  }
  return DataOf(table);
}

}  // namespace

std::string LensSection(const Explanation& explanation) {
  std::vector<size_t> steps = StepsWithLens(explanation);
  if (steps.empty()) return {};
  std::string out = fmt::format("<section>\n<h2>{}</h2>\n", TitleOf(explanation, steps));
  out +=
      "<p>What stands behind a layer of the row that draws goes through the final norm and the "
      "head, "
      "as if the model ended there (logit lens). Behind the last layer that is what it draws "
      "from.</p>\n";
  const size_t layers = explanation.steps[steps.front()].lens.size();
  const size_t most = std::max<size_t>(1, kMostCells / layers);
  out += HtmlLeftOut(steps.size(), most, "steps");
  steps.resize(std::min(steps.size(), most));
  return out + Figure(explanation, steps) + DrawnTable(explanation, steps) + "</section>\n";
}

}  // namespace skald::explain
