#include "cli/explain_taps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "cli/table.h"

namespace skald::cli {
namespace {

// Steps whose tokens stand side by side: some 100 columns.
constexpr size_t kMostLensSteps = 6;
// Tokens of a prompt that are listed.
constexpr size_t kMostUnlikely = 10;
// Experts of a layer that are named.
constexpr size_t kMostNamed = 3;

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

using Heads = std::vector<const ExplainedHead*>;

// By layer, and by the second mixer of one.
std::map<std::string, Heads> HeadsByLayer(const Explanation& explanation,
                                          std::vector<std::string>* order) {
  std::map<std::string, Heads> layers;
  for (const ExplainedHead& head : explanation.heads) {
    const std::string name = fmt::format("{}{}", head.layer, head.beside ? " beside" : "");
    Heads& heads = layers[name];
    if (heads.empty()) order->push_back(name);
    heads.push_back(&head);
  }
  return layers;
}

// The mean of a number over heads, the least of it and the most, each with its head.
void AddExtremes(const Heads& heads, double ExplainedHead::*number, const char* format,
                 std::vector<std::string>* cells) {
  const auto [least, most] = std::minmax_element(
      heads.begin(), heads.end(),
      [number](const ExplainedHead* a, const ExplainedHead* b) { return a->*number < b->*number; });
  double sum = 0;
  for (const ExplainedHead* head : heads) sum += head->*number;
  const auto text = [&](double value) { return fmt::format(fmt::runtime(format), value); };
  cells->push_back(text(sum / static_cast<double>(heads.size())));
  cells->push_back(fmt::format("{} (head {})", text((*least)->*number), (*least)->head));
  cells->push_back(fmt::format("{} (head {})", text((*most)->*number), (*most)->head));
}

// How often each expert of a layer was chosen.
struct Choices {
  int64_t experts = 0;  // of the layer
  int64_t tokens = 0;
  std::map<int32_t, int64_t> uses = {};

  std::string MostUsed() const {
    std::vector<std::pair<int64_t, int32_t>> ranked;
    for (const auto& [expert, count] : uses) ranked.emplace_back(-count, expert);
    std::sort(ranked.begin(), ranked.end());
    ranked.resize(std::min(ranked.size(), kMostNamed));
    std::vector<std::string> named;
    for (const auto& [count, expert] : ranked) {
      named.push_back(fmt::format("{} ({} of {} tokens)", expert, -count, tokens));
    }
    return fmt::format("{}", fmt::join(named, ", "));
  }
};

// 32 bins as 32 characters, the highest as dark as there is one.
std::string Histogram(const TensorCard& card) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  const int64_t most = *std::max_element(card.bins.begin(), card.bins.end());
  std::string text = "|";
  for (const int64_t count : card.bins) {
    // What is there at all is seen.
    const int64_t last = std::ssize(kShades) - 1;
    const int64_t shade = count == 0 ? 0 : std::max<int64_t>(1, count * last / most);
    text += kShades[static_cast<size_t>(shade)];
  }
  return text + '|';
}

void AddCard(const std::string& name, const TensorCard& card, Table* table) {
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  table->Add({name, fmt::format("[{}]", fmt::join(card.shape, ", ")), number(card.min),
              number(card.mean), number(card.max),
              fmt::format("{:.3g}", fmt::join(card.first, " ")), Histogram(card)});
}

Table CardTable() {
  Table table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kLeft, Align::kLeft});
  table.Add({"values", "shape", "min", "mean", "max", "first", "histogram, min to max"});
  return table;
}

}  // namespace

std::string LensText(const Explanation& explanation) {
  std::vector<size_t> steps;
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    if (!explanation.steps[i].lens.empty()) steps.push_back(i);
  }
  if (steps.empty()) return {};
  const size_t all = steps.size();
  steps.resize(std::min(all, kMostLensSteps));
  Table table(std::vector<Align>(1 + 2 * steps.size(), Align::kLeft));
  std::vector<std::string> head = {"layer"};
  for (const size_t step : steps) {
    head.push_back(fmt::format("step {}", step));
    head.emplace_back();
  }
  table.Add(head);
  for (size_t row = 0; row < explanation.steps[steps.front()].lens.size(); ++row) {
    std::vector<std::string> cells;
    for (const size_t step : steps) {
      const ExplainedLens& lens = explanation.steps[step].lens[row];
      if (cells.empty()) cells.push_back(std::to_string(lens.layer));
      cells.push_back('|' + lens.text + '|');
      cells.push_back(Percent(lens.probability));
    }
    table.Add(cells);
  }
  std::string text = "\nlogit lens: the token that the model would give behind each layer\n";
  if (steps.size() < all) {
    text += fmt::format("(of {} steps the first {}; --json has all)\n", all, steps.size());
  }
  return text + table.Text();
}

std::string AttentionText(const Explanation& explanation) {
  if (explanation.heads.empty()) return {};
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.Add(
      {"layer", "entropy, bits", "narrowest", "broadest", "tokens back", "nearest", "farthest"});
  std::vector<std::string> order;
  const auto layers = HeadsByLayer(explanation, &order);
  for (const std::string& layer : order) {
    std::vector<std::string> cells = {layer};
    AddExtremes(layers.at(layer), &ExplainedHead::entropy_bits, "{:.2f}", &cells);
    AddExtremes(layers.at(layer), &ExplainedHead::distance, "{:.1f}", &cells);
    table.Add(cells);
  }
  return "\nattention: means over rows and heads, and the heads at the ends\n" + table.Text();
}

std::string ExpertsText(const Explanation& explanation) {
  if (explanation.experts.empty()) return {};
  std::map<int64_t, Choices> layers;
  for (const ExplainedExperts& row : explanation.experts) {
    Choices& choices = layers[row.layer];
    choices.experts = row.count;
    ++choices.tokens;
    for (const int32_t expert : row.experts) ++choices.uses[expert];
  }
  Table table({Align::kLeft, Align::kLeft, Align::kLeft});
  table.Add({"layer", "chosen", "most often"});
  for (const auto& [layer, choices] : layers) {
    table.Add({std::to_string(layer), fmt::format("{} of {}", choices.uses.size(), choices.experts),
               choices.MostUsed()});
  }
  return "\nexperts\n" + table.Text();
}

std::string PromptText(const Explanation& explanation) {
  std::vector<size_t> places;
  double sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(explanation.prompt_tokens); ++i) {
    if (!explanation.tokens[i].probability) continue;
    places.push_back(i);
    sum -= std::log(*explanation.tokens[i].probability);
  }
  if (places.empty()) return {};
  const double perplexity = std::exp(sum / static_cast<double>(places.size()));
  std::ranges::stable_sort(places, {},
                           [&](size_t place) { return *explanation.tokens[place].probability; });
  places.resize(std::min(places.size(), kMostUnlikely));
  Table table({Align::kRight, Align::kLeft, Align::kRight, Align::kRight});
  table.Add({"position", "token", "id", "probability"});
  for (const size_t place : places) {
    const ExplainedToken& token = explanation.tokens[place];
    table.Add({std::to_string(place), '|' + token.text + '|', std::to_string(token.id),
               fmt::format("{:.3g}", *token.probability)});
  }
  return fmt::format("\nprompt: perplexity {:.4g}, and the tokens that surprise the model most\n",
                     perplexity) +
         table.Text();
}

std::string CardsText(const ExplainedStep& step) {
  Table table = CardTable();
  for (const ExplainedTensor& values : CardsOf(step.tree))
    AddCard(values.name, values.card, &table);
  return table.Text();
}

std::string WeightsText(const Explanation& explanation) {
  if (explanation.weights.empty()) return {};
  Table table = CardTable();
  for (const ExplainedTensor& weights : explanation.weights) {
    AddCard(weights.name, weights.card, &table);
  }
  return "\nweights\n" + table.Text();
}

}  // namespace skald::cli
