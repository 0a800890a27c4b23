#include "cli/ls_command.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/model_lookup.h"
#include "cli/other_models.h"
#include "cli/table.h"
#include "skald/model.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald ls                                 name, size, type and place of each model
  SKALD_MODELS=~/models skald ls           look there first
  skald ls --json | jq -r '.models[].path'
)";

std::string LsText(const std::vector<FoundModel>& models) {
  Table table(
      {Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  table.Add({"name", "parameters", "type", "context", "size", "path"});
  int64_t total_bytes = 0;
  for (const FoundModel& model : models) {
    const Result<ModelDescription> description = DescribeModel(model.path);
    total_bytes += description.ok() ? description->info.file_bytes : model.file_bytes;
    if (!description.ok()) {
      table.Add(
          {model.name, "-", "-", "-", Bytes(model.file_bytes), description.status().message()});
      continue;
    }
    const ModelInfo& info = description->info;
    table.Add({model.name, Count(info.parameter_count), info.weights_type,
               fmt::format("{}", info.context_length), Bytes(info.file_bytes), model.path});
  }
  if (models.size() > 1) table.Add({"total", "", "", "", Bytes(total_bytes), ""});
  return table.Text();
}

std::string LsJson(const std::vector<FoundModel>& models,
                   const std::vector<std::string>& directories) {
  JsonWriter json;
  json.BeginObject();
  json.Key("directories").BeginArray();
  for (const std::string& directory : directories) json.String(directory);
  json.EndArray();
  json.Key("models").BeginArray();
  for (const FoundModel& model : models) {
    const Result<ModelDescription> description = DescribeModel(model.path);
    json.BeginObject().Key("name").String(model.name).Key("path").String(model.path);
    json.Key("origin").String(model.origin);
    if (description.ok()) {
      const ModelInfo& info = description->info;
      json.Key("architecture").String(info.architecture).Key("type").String(info.weights_type);
      json.Key("parameters").Int(info.parameter_count).Key("context").Int(info.context_length);
      json.Key("file_bytes").Int(info.file_bytes);
    } else {
      json.Key("error").String(description.status().message());
      json.Key("file_bytes").Int(model.file_bytes);
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take() + '\n';
}

}  // namespace

void AddLsCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(
      root, {"ls", "List the models that are here, those of other programs, too", kExamples});
  const auto options = std::make_shared<OutputArgs>();
  AddOutputArgs(verb, *options);
  ChooseWhenParsed(verb, options, Ls, &chosen);
}

Status Ls(const OutputArgs& options, const Environment& environment, Console& console) {
  console.Configure(options.console);
  const std::vector<std::string> directories = ModelDirectories(environment);
  std::vector<FoundModel> models = FindModels(environment);
  std::vector<FoundModel> others = ModelsOfOthers(environment);
  std::move(others.begin(), others.end(), std::back_inserter(models));
  if (options.form == OutputForm::kJson) return console.Write(LsJson(models, directories));
  if (!models.empty()) return console.Write(LsText(models));
  console.Note(fmt::format("no models in {}", fmt::join(directories, ", ")));
  return Ok();
}

}  // namespace skald::cli
