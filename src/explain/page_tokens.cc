#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

// Tokens at either end of the text: some 170 bytes each.
constexpr size_t kMostTokens = 60;
// Choices: some 9 kB each.
constexpr size_t kMostChoices = 6;

// The steps whose choices are drawn, by their number.
std::vector<size_t> ChoicesToDraw(const Explanation& explanation, size_t most) {
  std::vector<size_t> steps;
  for (size_t i = 0; i < explanation.steps.size() && steps.size() < most; ++i) {
    if (explanation.steps[i].choice) steps.push_back(i);
  }
  return steps;
}

// Of the token at a place: the step that drew it.
const ExplainedStep* DrawnIn(const Explanation& explanation, size_t place) {
  for (const ExplainedStep& step : explanation.steps) {
    const bool is_it = step.first_position + step.rows == static_cast<int64_t>(place);
    if (is_it && step.drawn != kNoToken) return &step;
  }
  return nullptr;
}

const ExplainedChance& DrawnOf(const ExplainedChoice& choice) {
  size_t i = 0;
  while (choice.chances[i].token != choice.drawn) ++i;
  return choice.chances[i];
}

// A tint by -log p, as the strip of the console has it (classOf in chat.js): 0 is what was to be
// expected, 4 a surprise. Paint and the line below both grow with it.
constexpr std::array kLikelihoods = {.7, .3, .1, .02};

size_t SurpriseOf(double probability) {
  const auto above = [&](double bound) { return probability < bound; };
  return static_cast<size_t>(std::ranges::count_if(kLikelihoods, above));
}

// The probabilities of a tint.
std::string RangeOf(size_t surprise) {
  if (surprise == 0) return "at least " + HtmlPercent(kLikelihoods.front());
  const std::string below = HtmlPercent(kLikelihoods[surprise - 1]);
  if (surprise == kLikelihoods.size()) return "below " + below;
  return HtmlPercent(kLikelihoods[surprise]) + " to " + below;
}

// What the tints say.
std::string SurpriseKey() {
  std::string out = "<p class=\"key\">Tokens by how likely the model found them: ";
  for (size_t i = 0; i <= kLikelihoods.size(); ++i)
    out += fmt::format("<span class=\"p{}\">{}</span>", i, RangeOf(i));
  return out + "</p>\n";
}

std::string CellOf(const Explanation& explanation, size_t place) {
  const ExplainedToken& token = explanation.tokens[place];
  std::string below = fmt::format("{}", token.id);
  std::string open = "<span";
  std::string_view end = "span";
  std::string classes(TokenOriginName(token.origin));
  const ExplainedStep* step = DrawnIn(explanation, place);
  if (token.probability) {
    below += " &middot; " + HtmlPercent(*token.probability);
    classes += fmt::format(" p{}", SurpriseOf(*token.probability));
  }
  if (token.origin == TokenOrigin::kDrawn && step != nullptr && step->choice) {
    const auto index = static_cast<size_t>(step - explanation.steps.data());
    const std::vector<size_t> drawn = ChoicesToDraw(explanation, kMostChoices);
    if (std::ranges::find(drawn, index) != drawn.end()) {
      open = fmt::format("<a href=\"#step-{}\"", index);
      end = "a";
    }
  }
  return fmt::format(
      "<li>{} class=\"{}\"><bdi class=\"token\">{}</bdi><small>{}</small></{}></li>\n", open,
      classes, HtmlToken(token.text), below, end);
}

std::string TokenTable(const Explanation& explanation) {
  HtmlTable table = {"Tokens, where they came from, and how likely the model found them",
                     {"position", "token", "id", "origin", "probability"},
                     {}};
  const size_t count = explanation.tokens.size();
  for (size_t place = 0; place < count; ++place) {
    // As the figure.
    if (place == kMostTokens && count > 2 * kMostTokens) place = count - kMostTokens;
    const ExplainedToken& token = explanation.tokens[place];
    table.rows.push_back({std::to_string(place), token.text, std::to_string(token.id),
                          std::string(TokenOriginName(token.origin)),
                          token.probability ? HtmlPercent(*token.probability) : std::string()});
  }
  return DataOf(table);
}

// The filters, by how many tokens each left.
std::string FiltersOf(const ExplainedChoice& choice) {
  std::string text;
  for (const ExplainedFilter& filter : choice.filters) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", HtmlText(filter.name), filter.left);
  }
  return text;
}

std::string ChanceRow(const ExplainedChance& chance, const ExplainedChoice& choice) {
  const bool is_drawn = chance.token == choice.drawn;
  std::string row =
      fmt::format("<tr><th scope=\"row\"{}><bdi>{}</bdi>{}</th><td class=\"n\">{}</td>",
                  is_drawn ? " class=\"drawn\"" : "", HtmlToken(chance.text),
                  is_drawn ? " drawn" : "", chance.token);
  for (const double p : chance.probabilities) {
    if (p > 0) {
      row += fmt::format("<td class=\"n bar {}\">{}<i style=\"width:{:.1f}%\"></i></td>",
                         is_drawn ? "drawn" : "computed", HtmlPercent(p), 100 * p);
    } else {
      row += "<td class=\"n cut\">cut</td>";
    }
  }
  const std::string race = chance.race ? fmt::format("{:.3f}", *chance.race) : "";
  return row + fmt::format("<td class=\"n\">{}</td></tr>\n", race);
}

// The figure is a table already: a bar stands in each cell below its number.
std::string ChoiceFigure(const ExplainedChoice& choice, size_t step) {
  const std::string caption = fmt::format(
      "Step {}: probability of the likeliest tokens behind each filter (tokens left: {})", step,
      FiltersOf(choice));
  std::string out = fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Choice of step {}\">"
      "<table><caption>{}</caption>\n<thead><tr><th scope=\"col\">token</th><th "
      "scope=\"col\">id</th>",
      step, caption);
  for (const ExplainedFilter& filter : choice.filters) {
    out += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", HtmlText(filter.name));
  }
  out += "<th scope=\"col\" class=\"n\">race</th></tr></thead>\n<tbody>";
  for (const ExplainedChance& chance : choice.chances) out += ChanceRow(chance, choice);
  return out + "</tbody></table></div>\n";
}

std::string ChoiceOf(const ExplainedChoice& choice, size_t step) {
  const ExplainedChance& drawn = DrawnOf(choice);
  const bool is_likeliest = choice.chances.front().token == choice.drawn;
  std::string out = fmt::format(
      "<div><h3 id=\"step-{}\">Step {}: <bdi class=\"token\">{}</bdi> was drawn with {}{}</h3>\n",
      step, step, HtmlToken(drawn.text), HtmlPercent(drawn.probabilities.back()),
      is_likeliest ? ", the model's likeliest" : "");
  if (!is_likeliest) {
    out += fmt::format("<p>The model's likeliest was <bdi class=\"token\">{}</bdi>.</p>\n",
                       HtmlToken(choice.chances.front().text));
  }
  return out + ChoiceFigure(choice, step) + "</div>\n";
}

}  // namespace

std::string TokenSection(const Explanation& explanation) {
  std::string out = fmt::format(
      "<section>\n<h2>The model sees {} numbers, {} of them from the cache</h2>\n<ol "
      "class=\"strip\">\n",
      explanation.prompt_tokens, explanation.cached_tokens);
  const size_t count = explanation.tokens.size();
  for (size_t place = 0; place < count; ++place) {
    if (place == kMostTokens && count > 2 * kMostTokens) {
      place = count - kMostTokens;
      out += fmt::format("<li>{} tokens are left out; the data of the page has all</li>\n",
                         count - 2 * kMostTokens);
    }
    out += CellOf(explanation, place);
  }
  const bool has_tints = std::ranges::any_of(explanation.tokens, [](const ExplainedToken& token) {
    return token.probability.has_value();
  });
  return out + "</ol>\n" + (has_tints ? SurpriseKey() : "") + TokenTable(explanation) +
         "</section>\n";
}

std::string ChoiceSection(const Explanation& explanation) {
  std::string out;
  for (const size_t i : ChoicesToDraw(explanation, kMostChoices)) {
    out += ChoiceOf(*explanation.steps[i].choice, i);
  }
  if (out.empty()) return out;
  const size_t all = ChoicesToDraw(explanation, explanation.steps.size()).size();
  return "<section>\n<h2>Filters cut, then a race decides</h2>\n"
         "<p>Each column is what is left behind one filter more, as shares of what it left. Each "
         "token that is left has a random number u; the least -ln(1 - u) / p wins the race.</p>\n" +
         HtmlLeftOut(all, kMostChoices, "choices") + "<div class=\"pair\">\n" + out +
         "</div>\n</section>\n";
}

}  // namespace skald::explain
