#include <string_view>

#include "base/json_writer.h"
#include "skald/lab.h"

namespace skald {
namespace {

void Write(std::string_view key, const std::vector<LabToken>& tokens, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const LabToken& token : tokens) {
    json.BeginObject().Key("id").Int(token.id).Key("text").String(token.text).EndObject();
  }
  json.EndArray();
}

void Write(const FigurePanel& panel, JsonWriter& json) {
  json.BeginObject().Key("title").String(panel.title);
  json.Key("x").String(panel.x.label).Key("y").String(panel.y.label);
  json.Key("series").BeginArray();
  for (const FigureSeries& series : panel.series) {
    json.BeginObject().Key("name").String(series.name).Key("points").BeginArray();
    for (const FigurePoint& point : series.points) {
      json.BeginArray().Double(point.x).Double(point.y).EndArray();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
}

// The prompt is given, then comes what was drawn; behind the place where the texts part the fault
// speaks.
FigureStrip StripOf(const LabResult& result, std::string_view name,
                    const std::vector<LabToken>& tokens, FigureMark behind) {
  FigureStrip strip = {.name = std::string(name), .cells = {}};
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    FigureMark mark = FigureMark::kResult;
    if (index < result.prompt_tokens) mark = FigureMark::kInput;
    if (result.parts_at && index >= *result.parts_at) mark = behind;
    strip.cells.push_back({.text = tokens[i].text, .mark = mark});
  }
  return strip;
}

}  // namespace

std::string LabJson(const LabResult& result) {
  JsonWriter json;
  json.BeginObject().Key("experiment").String(result.experiment);
  json.Key("model").String(result.model);
  json.Key("changed").String(result.changed).Key("finding").String(result.finding);
  json.Key("clean").String(result.clean).Key("is_clean").Bool(result.is_clean);
  if (result.position) json.Key("position").Int(*result.position);
  if (!result.text.empty()) {
    json.Key("prompt_tokens").Int(result.prompt_tokens);
    Write("text", result.text, json);
    Write("broken_text", result.broken_text, json);
    json.Key("parts_at");
    if (result.parts_at) {
      json.Int(*result.parts_at);
    } else {
      json.Null();
    }
  }
  json.Key("panels").BeginArray();
  for (const FigurePanel& panel : result.panels) Write(panel, json);
  json.EndArray().EndObject();
  return json.Take();
}

std::string LabSvg(const LabResult& result, const std::string& command) {
  Figure figure = {.title = result.finding,
                   .note = result.changed + ". " + result.clean + ".",
                   .strips = {},
                   .panels = result.panels,
                   .data = LabJson(result),
                   .command = command};
  if (!result.text.empty()) {
    figure.strips = {StripOf(result, "As it should be", result.text, FigureMark::kResult),
                     StripOf(result, "With the fault", result.broken_text, FigureMark::kFault)};
  }
  return FigureSvg(figure);
}

}  // namespace skald
