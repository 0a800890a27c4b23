#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "explain/html.h"
#include "explain/page_parts.h"

namespace skald::explain {
namespace {

using Unit = std::pair<double, const char*>;

template <size_t kCount>
std::string WithUnit(double value, const std::array<Unit, kCount>& units) {
  for (const auto& [unit, name] : units) {
    if (value >= unit) return fmt::format("{:.3g} {}", value / unit, name);
  }
  return fmt::format("{:.0f}", value);
}

std::string Seconds(double seconds) {
  return WithUnit(seconds * 1e9,
                  std::array<Unit, 4>{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}});
}
std::string Bytes(double bytes) {
  return WithUnit(bytes, std::array<Unit, 3>{{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}});
}
std::string Operations(double count) {
  return WithUnit(count, std::array<Unit, 3>{{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}});
}
std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string ShapeOf(const std::vector<int64_t>& shape) {
  return shape.empty() ? std::string() : fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string ShareOf(const Call& call) {
  const auto share = call.share();
  return share ? fmt::format("{} {}", Percent(*share), ResourceName(call.bound->resource)) : "";
}

double PartOf(const Call& call, const Call& step) {
  const double all = step.seconds.value_or(0);
  return all > 0 ? call.seconds.value_or(0) / all : 0;
}

bool IsSum(const Call& call) {
  return call.kind == CallKind::kStep || call.kind == CallKind::kLayer ||
         call.kind == CallKind::kBlock;
}

std::string RowOf(const Call& call, const Call& step, int64_t depth) {
  std::string row = fmt::format(
      "<tr><th scope=\"row\" style=\"padding-left:{}px\">{}</th><td>{}</td><td>{}</td><td>{}</td>",
      8 + 16 * depth, HtmlText(call.name), ShapeOf(call.input), ShapeOf(call.operand),
      ShapeOf(call.output));
  const std::string_view tint = IsSum(call) ? "sum" : "computed";
  if (call.seconds) {
    row += fmt::format("<td class=\"n bar {}\">{}<i style=\"width:{:.2f}%\"></i></td>", tint,
                       Seconds(*call.seconds), 100 * PartOf(call, step));
  } else {
    row += "<td></td>";
  }
  return row +
         fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                     Bytes(call.work.bytes), Operations(2 * call.macs()), ShareOf(call));
}

std::string RowsOf(const Call& call, const Call& step, int64_t depth) {
  std::string rows = RowOf(call, step, depth);
  for (const Call& inner : call.calls) rows += RowsOf(inner, step, depth + 1);
  return rows;
}

std::string TableAround(const std::string& caption, const std::string& rows) {
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>"
      "<caption>{0}</caption>\n<thead><tr><th scope=\"col\">call</th><th scope=\"col\">in</th>"
      "<th scope=\"col\">with</th><th scope=\"col\">out</th><th scope=\"col\" class=\"n\">time</th>"
      "<th scope=\"col\" class=\"n\">bytes</th><th scope=\"col\" class=\"n\">operations</th>"
      "<th scope=\"col\" class=\"n\">of "
      "ceiling</th></tr></thead>\n<tbody>{1}</tbody></table></div>\n",
      HtmlText(caption), rows);
}

// Rows of what stands below the layers of one step: some 300 bytes each.
constexpr int64_t kMostRows = 80;

int64_t CountOf(const Call& call) {
  int64_t count = 1;
  for (const Call& inner : call.calls) count += CountOf(inner);
  return count;
}

// Calls of the step, from the first on, whose insides there is room for.
size_t CallsToOpen(const Call& tree) {
  int64_t rows = 0;
  size_t count = 0;
  for (const Call& call : tree.calls) {
    rows += CountOf(call);
    if (rows > kMostRows) break;
    ++count;
  }
  return count;
}

// The step with its blocks and layers; what is in each stands below, closed.
std::string TreeOf(const ExplainedStep& step, size_t index) {
  const Call& tree = step.tree;
  const std::string name =
      fmt::format("Step {}, {}", index, step.is_prefill ? "prefill" : "decode");
  std::string rows = RowOf(tree, tree, 0);
  std::string inside;
  const size_t open = CallsToOpen(tree);
  for (size_t i = 0; i < tree.calls.size(); ++i) {
    const Call& call = tree.calls[i];
    rows += RowOf(call, tree, 1);
    if (i >= open) continue;
    inside += fmt::format("<details><summary>{}, {} of the step</summary>\n", HtmlText(call.name),
                          Percent(PartOf(call, tree)));
    inside += TableAround(name + ", " + call.name, RowsOf(call, tree, 0)) + "</details>\n";
  }
  return fmt::format("<div>\n<h3>{}: {} in {}</h3>\n", name,
                     step.rows == 1 ? "1 row" : fmt::format("{} rows", step.rows),
                     Seconds(tree.seconds.value_or(0))) +
         TableAround(name, rows) + HtmlLeftOut(tree.calls.size(), open, "parts") + inside +
         "</div>\n";
}

// The step that decodes and takes longest within: what a reader asks first.
std::string TitleOf(const Explanation& explanation) {
  const Call& tree = explanation.steps.back().tree;
  const auto longest = std::max_element(
      tree.calls.begin(), tree.calls.end(),
      [](const Call& a, const Call& b) { return a.seconds.value_or(0) < b.seconds.value_or(0); });
  if (longest == tree.calls.end()) return "Where the time went";
  return fmt::format("Of the last step {} took most, {}", HtmlText(longest->name),
                     Percent(PartOf(*longest, tree)));
}

std::string StepTable(const Explanation& explanation) {
  HtmlTable table = {
      "All steps",
      {"step", "kind", "from position", "rows", "time", "bytes", "operations", "of ceiling"},
      {}};
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainedStep& step = explanation.steps[i];
    table.rows.push_back({std::to_string(i), step.is_prefill ? "prefill" : "decode",
                          std::to_string(step.first_position), std::to_string(step.rows),
                          Seconds(step.tree.seconds.value_or(0)), Bytes(step.tree.work.bytes),
                          Operations(2 * step.tree.macs()), ShareOf(step.tree)});
  }
  return TableOf(table);
}

}  // namespace

std::string TreeSection(const Explanation& explanation) {
  if (explanation.steps.empty()) return {};
  const auto decode = std::find_if(explanation.steps.begin(), explanation.steps.end(),
                                   [](const ExplainedStep& step) { return !step.is_prefill; });
  std::string out = fmt::format("<section>\n<h2>{}</h2>\n", TitleOf(explanation)) +
                    StepTable(explanation) + "<div class=\"pair\">\n" +
                    TreeOf(explanation.steps.front(), 0);
  if (decode != explanation.steps.end() && decode != explanation.steps.begin()) {
    out += TreeOf(*decode, static_cast<size_t>(decode - explanation.steps.begin()));
  }
  return out + "</div>\n</section>\n";
}

}  // namespace skald::explain
