#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "explain/attention_maps.h"
#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

// Paths of all maps together.
constexpr size_t kMostMapBytes = 40'000;
// Cells of the table of heads: some 90 bytes each.
constexpr size_t kMostHeadCells = 240;

// In units of the drawing, each a cell of the map: what stands left of the text and above it.
constexpr int64_t kLeft = 9;
constexpr int64_t kAbove = 8;
// What a name below the axes takes at most.
constexpr int64_t kLeastWidth = 44;
// Pixels of a cell: a short text has room.
int64_t CellOf(int64_t tokens) { return tokens <= 32 ? 20 : 14; }

using HeadsByMixer = std::map<MixerPlace, std::vector<const ExplainedHead*>>;

HeadsByMixer HeadsOf(const Explanation& explanation) {
  HeadsByMixer mixers;
  for (const ExplainedHead& head : explanation.heads) {
    mixers[{head.layer, head.beside}].push_back(&head);
  }
  return mixers;
}

std::string Numbers(double bits, double distance) {
  return fmt::format("{:.1f} bits, {:.1f} back", bits, distance);
}

std::string MeanNumbers(const std::vector<const ExplainedHead*>& heads) {
  double bits = 0;
  double distance = 0;
  for (const ExplainedHead* head : heads) {
    bits += head->entropy_bits / static_cast<double>(heads.size());
    distance += head->distance / static_cast<double>(heads.size());
  }
  return Numbers(bits, distance);
}

// Where the last row looks, over all layers and heads.
std::string TitleOf(const Explanation& explanation, const AttentionMaps& maps) {
  const std::vector<double>& last = maps.all.last_row;
  const auto most = static_cast<size_t>(std::max_element(last.begin(), last.end()) - last.begin());
  return fmt::format("The last row looks most at token {}, <bdi class=\"token\">{}</bdi>: {}", most,
                     HtmlShortToken(explanation.tokens[most].text, 20), HtmlPercent(last[most]));
}

// What rows see: paper, where the rest is grey.
std::string SeenPath(const MixerMaps& maps) {
  std::string path;
  for (const auto& [row, columns] : maps.seen) {
    path += fmt::format("M{} {}.5h{}", columns.first, row, columns.second - columns.first);
  }
  return path;
}

// The text on both axes.
std::string AxesOf(const Explanation& explanation, int64_t first_row) {
  std::string rows;
  std::string columns;
  for (size_t i = 0; i < explanation.tokens.size(); ++i) {
    const std::string text = HtmlShortToken(explanation.tokens[i].text, 8);
    const int64_t row = static_cast<int64_t>(i) - first_row;
    if (row >= 0) rows += fmt::format("<text x=\"-3\" y=\"{}.75\">{}</text>", row, text);
    // The drawing is turned: to the right is up, and down is to the right.
    columns += fmt::format("<text y=\"{}.75\">{}</text>", i, text);
  }
  return fmt::format(
      "<g text-anchor=\"end\">{}</g>\n<g transform=\"translate(0 -.5)rotate(-90)\">{}</g>\n", rows,
      columns);
}

// A map with its name below; the one that a link chose is shown, and none but the last without.
std::string ChosenMap(const std::string& id, const std::string& seen, const std::string& name,
                      std::string_view tint) {
  return fmt::format(
      "<g id=\"show-{0}\" class=\"choice\"><use href=\"#{1}\"/><use href=\"#{0}\" "
      "class=\"{2}\"/><text x=\"0\" y=\"-7\">{3}</text></g>\n",
      id, seen, tint, name);
}

constexpr std::string_view kSinkLabel =
    "<text transform=\"translate(-1.25 -.5)rotate(-90)\">sink</text>";

std::string KindOf(const MixerMaps& mixer) {
  return std::string(mixer.has_window ? ", window" : "") + (mixer.has_sink ? ", sink" : "");
}

struct Drawing {
  int64_t rows = 0;
  int64_t columns = 0;
  std::string maps = {};     // the paths
  std::string choices = {};  // what links choose
  std::string small = {};    // of each layer the mean, small
  // What rows see, by its path: many mixers see the same.
  std::map<std::string, std::string> seen = {};

  // The id of the path, which is drawn once.
  std::string SeenBy(const MixerMaps& mixer) {
    const std::string path = SeenPath(mixer);
    const auto [place, is_new] = seen.try_emplace(path, fmt::format("seen-{}", seen.size()));
    if (is_new) {
      maps +=
          fmt::format("<g id=\"{}\"><path class=\"seen\" d=\"{}\"/></g>\n", place->second, path);
    }
    return place->second;
  }
};

void DrawMean(const MixerPlace& place, MixerMaps& mixer,
              const std::vector<const ExplainedHead*>& heads, Drawing* drawing) {
  if (mixer.mean.bytes() == 0) return;
  const std::string id = "map-" + place.Id();
  const std::string seen = drawing->SeenBy(mixer);
  drawing->maps += mixer.mean.Svg(id);
  drawing->choices += ChosenMap(id, seen,
                                fmt::format("{}, mean of {} heads: {}{}", place.Name(),
                                            heads.size(), MeanNumbers(heads), KindOf(mixer)),
                                "mean");
  drawing->small += fmt::format(
      "<li><a href=\"#show-{0}\"><svg viewBox=\"-2 0 {1} {2}\" aria-hidden=\"true\"><rect "
      "class=\"paper\" width=\"{3}\" height=\"{2}\"/><use href=\"#{4}\"/><use href=\"#{0}\" "
      "class=\"mean\"/></svg>{5}</a></li>\n",
      id, drawing->columns + 2, drawing->rows, drawing->columns, seen, place.Name());
}

void DrawMixer(const MixerPlace& place, MixerMaps& mixer,
               const std::vector<const ExplainedHead*>& heads, Drawing* drawing) {
  const std::string id = place.Id();
  const std::string seen = drawing->SeenBy(mixer);
  for (const ExplainedHead* head : heads) {
    const auto found = mixer.heads.find(head->head);
    if (found == mixer.heads.end()) continue;
    const std::string of_head = fmt::format("map-{}-{}", id, head->head);
    drawing->maps += found->second.Svg(of_head);
    drawing->choices +=
        ChosenMap(of_head, seen,
                  fmt::format("{}, head {}: {}{}", place.Name(), head->head,
                              Numbers(head->entropy_bits, head->distance), KindOf(mixer)),
                  "one");
  }
  DrawMean(place, mixer, heads, drawing);
}

std::string FigureOf(const Explanation& explanation, AttentionMaps& maps,
                     const HeadsByMixer& heads) {
  const int64_t tokens = std::ssize(explanation.tokens);
  Drawing drawing = {.rows = tokens - maps.first_row, .columns = tokens};
  std::vector<const ExplainedHead*> all;
  for (auto& [place, mixer] : maps.mixers) {
    DrawMixer(place, mixer, heads.at(place), &drawing);
    all.insert(all.end(), heads.at(place).begin(), heads.at(place).end());
  }
  // The last is what is shown before somebody chooses.
  DrawMixer({.layer = -1}, maps.all, all, &drawing);
  const int64_t wide = std::max(tokens + kLeft + 1, kLeastWidth);
  const int64_t high = drawing.rows + kAbove + 1;
  return fmt::format(
      "<p>Each row is a token that was computed, each column a token that it may look at; darker "
      "is more of its attention (the shade grows with the root of it: 1 % is a tenth as dark as "
      "all). "
      "Grey is what a row does not see: what comes later, and what lies before its window. Purple "
      "is a mean over heads, amber one head; choose with the links here and in the table.</p>\n"
      "<ul class=\"small-maps\">\n{}</ul>\n"
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Attention over the text\">"
      "<svg class=\"map\" role=\"img\" aria-label=\"Attention over the text; the tables have its "
      "numbers\" width=\"{}\" height=\"{}\" viewBox=\"-{} -{} {} {}\"><defs>\n{}</defs>"
      "<rect class=\"paper\" width=\"{}\" height=\"{}\"/>{}{}\n{}</svg></div>\n",
      drawing.small, wide * CellOf(tokens), high * CellOf(tokens), kLeft, kAbove, wide, high,
      drawing.maps, tokens, drawing.rows, AxesOf(explanation, maps.first_row),
      maps.all.has_sink ? kSinkLabel : "", drawing.choices);
}

std::string HeadCell(const ExplainedHead& head, const MixerMaps& mixer, const MixerPlace& place) {
  const std::string numbers =
      fmt::format("{:.1f} &middot; {:.1f}", head.entropy_bits, head.distance);
  if (!mixer.heads.contains(head.head)) return fmt::format("<td class=\"n\">{}</td>", numbers);
  return fmt::format("<td class=\"n\"><a href=\"#show-map-{}-{}\">{}</a></td>", place.Id(),
                     head.head, numbers);
}

// The numbers of all heads, each a link to its map.
std::string HeadTable(const AttentionMaps& maps, const HeadsByMixer& heads) {
  size_t most = 0;
  size_t count = 0;
  for (const auto& [place, of_mixer] : heads) {
    most = std::max(most, of_mixer.size());
    count += of_mixer.size();
  }
  if (count > kMostHeadCells) most = 0;
  std::string out =
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Heads\"><table><caption>Of "
      "each head entropy in bits (0: each row looks at one token; log2 n: at n alike) &middot; "
      "mean distance in tokens</caption>\n<thead><tr><th scope=\"col\">layer</th><th "
      "scope=\"col\">mean</th>";
  for (size_t i = 0; i < most; ++i)
    out += fmt::format("<th scope=\"col\" class=\"n\">head {}</th>", i);
  out += "</tr></thead>\n<tbody>";
  for (const auto& [place, of_mixer] : heads) {
    out += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"sum\">{}</td>", place.Name(),
                       MeanNumbers(of_mixer));
    for (size_t i = 0; i < most && i < of_mixer.size(); ++i) {
      out += HeadCell(*of_mixer[i], maps.mixers.at(place), place);
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (most > 0) return out;
  return out + fmt::format(
                   "<p>The numbers of {} heads are left out; the data of the page has "
                   "them.</p>\n",
                   count);
}

// The figure in words: where the last row looked, of each layer.
std::string LookTable(const Explanation& explanation, const AttentionMaps& maps) {
  constexpr size_t kMost = 5;  // fit a line of the page
  HtmlTable table = {"Where the last row looks, mean of the heads", {"layer", "most at"}, {}};
  for (const auto& [place, mixer] : maps.mixers) {
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t i = 0; i < mixer.last_row.size(); ++i) ranked.emplace_back(-mixer.last_row[i], i);
    std::sort(ranked.begin(), ranked.end());
    ranked.resize(std::min(ranked.size(), kMost));
    std::string text;
    for (const auto& [share, token] : ranked) {
      text += fmt::format("{}{} \"{}\" {}", text.empty() ? "" : ", ", token,
                          explanation.tokens[token].text, HtmlPercent(-share));
    }
    table.rows.push_back({place.Name(), text});
  }
  return DataOf(table);
}

}  // namespace

std::string AttentionSection(const Explanation& explanation) {
  if (explanation.attention.empty()) return {};
  AttentionMaps maps = MapsOf(explanation, kMostMapBytes);
  const HeadsByMixer heads = HeadsOf(explanation);
  std::string out = fmt::format("<section>\n<h2>{}</h2>\n", TitleOf(explanation, maps));
  if (maps.left_out > 0) {
    out += fmt::format(
        "<p>{} maps are left out to keep the page small; its data has their "
        "weights.</p>\n",
        maps.left_out);
  }
  if (maps.first_row > 0) {
    out += fmt::format("<p>Rows before token {} are left out likewise.</p>\n", maps.first_row);
  }
  return out + FigureOf(explanation, maps, heads) + LookTable(explanation, maps) +
         HeadTable(maps, heads) + "</section>\n";
}

}  // namespace skald::explain
