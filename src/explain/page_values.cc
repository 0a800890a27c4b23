#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

// Rows of a table: some 400 bytes each.
constexpr size_t kMostCards = 32;

std::string Number(double value) { return fmt::format("{:.4g}", value); }

// Bars that stand on one line, in units of the drawing: 4 wide, up to 32 high. What is there at all
// is seen.
std::string HistogramOf(const TensorCard& card) {
  constexpr int64_t kHigh = 32;
  const int64_t most = std::max<int64_t>(1, *std::max_element(card.bins.begin(), card.bins.end()));
  std::string path;
  for (size_t i = 0; i < card.bins.size(); ++i) {
    if (card.bins[i] == 0) continue;
    const int64_t high = std::max<int64_t>(1, card.bins[i] * kHigh / most);
    path += fmt::format("M{} 32v-{}", 4 * i + 2, high);
  }
  return fmt::format(
      "<svg class=\"bins\" viewBox=\"0 0 128 32\" role=\"img\" aria-label=\"histogram, 32 bins, "
      "{} to {}\"><path d=\"{}\"/></svg>",
      Number(card.min), Number(card.max), path);
}

std::string RowOf(const ExplainedTensor& tensor) {
  const TensorCard& card = tensor.card;
  std::string row = fmt::format("<tr><th scope=\"row\">{}</th><td>[{}]</td>", HtmlText(tensor.name),
                                fmt::join(card.shape, ", "));
  for (const double value : {card.min, card.mean, card.max}) {
    row += fmt::format("<td class=\"n\">{}</td>", Number(value));
  }
  row += fmt::format("<td>{:.3g} &hellip; {:.3g}</td><td>{}{}</td></tr>\n",
                     fmt::join(card.first, " "), fmt::join(card.last, " "), HistogramOf(card),
                     card.not_finite > 0 ? fmt::format(" {} are not finite", card.not_finite) : "");
  return row;
}

std::string TableAround(const std::string& caption, std::vector<ExplainedTensor> cards) {
  std::string out = HtmlLeftOut(cards.size(), kMostCards, "cards");
  cards.resize(std::min(cards.size(), kMostCards));
  out += fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>"
      "<caption>{0}</caption>\n<thead><tr><th scope=\"col\">values</th><th "
      "scope=\"col\">shape</th><th scope=\"col\" class=\"n\">min</th><th scope=\"col\" "
      "class=\"n\">mean</th><th scope=\"col\" class=\"n\">max</th><th scope=\"col\">first, "
      "last</th><th scope=\"col\">min to max, 32 bins</th></tr></thead>\n<tbody>",
      caption);
  for (const ExplainedTensor& card : cards) out += RowOf(card);
  return out + "</tbody></table></div>\n";
}

double Reach(const TensorCard& card) { return std::max(-card.min, card.max); }

}  // namespace

std::string ValueSection(const Explanation& explanation) {
  if (explanation.steps.empty()) return {};
  const std::vector<ExplainedTensor> cards = CardsOf(explanation.steps.front().tree);
  if (cards.empty()) return {};
  const auto widest = std::max_element(cards.begin(), cards.end(),
                                       [](const ExplainedTensor& a, const ExplainedTensor& b) {
                                         return Reach(a.card) < Reach(b.card);
                                       });
  std::string out = fmt::format("<section>\n<h2>The first step's largest value is {}, in {}</h2>\n",
                                Number(Reach(widest->card)), HtmlText(widest->name));
  out +=
      "<p>Of each mixer what it reads (queries, keys, values), of each block what it gave to all "
      "its rows, behind each layer the residual stream, and of each matrix what stands in it. In "
      "bins of equal width between the least and the greatest value, the fullest as high as the "
      "row.</p>\n";
  out += TableAround("Activations of step 0", cards);
  const auto decode = std::find_if(explanation.steps.begin() + 1, explanation.steps.end(),
                                   [](const ExplainedStep& step) { return !step.is_prefill; });
  if (decode != explanation.steps.end()) {
    const auto index = decode - explanation.steps.begin();
    out += fmt::format("<details><summary>step {}, decode</summary>\n", index) +
           TableAround(fmt::format("Activations of step {}", index), CardsOf(decode->tree)) +
           "</details>\n";
  }
  if (!explanation.weights.empty()) {
    out += "<details><summary>weights</summary>\n" +
           TableAround("Weights; of large matrices some rows", explanation.weights) +
           "</details>\n";
  }
  return out + "</section>\n";
}

}  // namespace skald::explain
