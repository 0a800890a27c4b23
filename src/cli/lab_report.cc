#include "cli/lab_report.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "cli/character_plot.h"
#include "cli/utf8.h"

namespace skald::cli {
namespace {

// Columns of a line, and those that its name takes.
constexpr size_t kColumns = 100;
constexpr size_t kNameColumns = 17;

// `text` behind a name, broken between words.
std::string Named(std::string_view name, std::string_view text, size_t indent) {
  std::string out = fmt::format("{:{}}", name, indent);
  const size_t width = kColumns - indent;
  while (text.size() > width) {
    size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos || cut == 0) cut = width;
    out += std::string(text.substr(0, cut)) + "\n" + std::string(indent, ' ');
    text.remove_prefix(cut);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return out + std::string(text) + "\n";
}

// Some tokens of a text, one beside the other.
struct Strip {
  std::string_view name;
  const std::vector<LabToken>& tokens;
  size_t first;
  size_t end;
  Tint tint;
  std::optional<int64_t> parts_at = {};
  Tint behind = Tint::kPlain;  // of what stands behind that place
};

std::string StripText(const Strip& strip, Painting painting) {
  std::string out = fmt::format("{:{}}", strip.name, kNameColumns);
  size_t column = kNameColumns;
  for (size_t i = strip.first; i < strip.end; ++i) {
    const auto index = static_cast<int64_t>(i);
    const bool parts = strip.parts_at == index;
    const std::string token = TerminalLine(strip.tokens[i].text);
    const size_t width = DisplayWidth(token) + (parts ? 3 : 1);
    if (column + width > kColumns && column > kNameColumns) {
      out += "|\n" + std::string(kNameColumns, ' ');
      column = kNameColumns;
    }
    const bool is_behind = strip.parts_at && index >= *strip.parts_at;
    out += (parts ? "|>>" : "|") + Paint(token, is_behind ? strip.behind : strip.tint, painting);
    column += width;
  }
  return out + "|\n";
}

std::string Texts(const LabResult& result, Painting painting) {
  const auto prompt = static_cast<size_t>(result.prompt_tokens);
  const Strip given = {
      .name = "prompt", .tokens = result.text, .first = 0, .end = prompt, .tint = Tint::kInput};
  const Strip right = {.name = "as it should be",
                       .tokens = result.text,
                       .first = prompt,
                       .end = result.text.size(),
                       .tint = Tint::kResult,
                       .parts_at = result.parts_at,
                       .behind = Tint::kResult};
  const Strip broken = {.name = "with the fault",
                        .tokens = result.broken_text,
                        .first = prompt,
                        .end = result.broken_text.size(),
                        .tint = Tint::kResult,
                        .parts_at = result.parts_at,
                        .behind = Tint::kFault};
  return StripText(given, painting) + StripText(right, painting) + StripText(broken, painting);
}

}  // namespace

std::string LabList(std::span<const LabExperiment> experiments) {
  std::string out;
  for (const LabExperiment& experiment : experiments) {
    if (!out.empty()) out += '\n';
    out += Named(experiment.name, experiment.title, kNameColumns);
    out += Named("  to see", experiment.see, kNameColumns);
    out += Named("  in real life", experiment.bug, kNameColumns);
  }
  return out;
}

std::string LabListJson(std::span<const LabExperiment> experiments) {
  JsonWriter json;
  json.BeginObject().Key("experiments").BeginArray();
  for (const LabExperiment& experiment : experiments) {
    json.BeginObject().Key("name").String(experiment.name).Key("title").String(experiment.title);
    json.Key("see").String(experiment.see).Key("bug").String(experiment.bug).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string LabText(const LabExperiment& experiment, const LabResult& result, Painting painting) {
  std::string out = fmt::format("{}: {}, on {}\n\n", experiment.name, experiment.title,
                                TerminalLine(result.model));
  out += Named("changed", TerminalLine(result.changed), kNameColumns);
  out += Named("to see", experiment.see, kNameColumns);
  out += Named("in real life", experiment.bug, kNameColumns);
  if (!result.text.empty()) out += "\n" + Texts(result, painting);
  for (const FigurePanel& panel : result.panels) out += "\n" + CharacterPlot(panel, {}, painting);
  out += "\n" + Named("", TerminalLine(result.finding) + ".", 0);
  return out + Named("", TerminalLine(result.clean) + ".", 0);
}

}  // namespace skald::cli
