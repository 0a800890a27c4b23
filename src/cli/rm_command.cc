#include "cli/rm_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/model_lookup.h"
#include "cli/model_source.h"
#include "cli/other_models.h"

namespace skald::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  skald rm hf://owner/name-GGUF:Q6_K           a model that was pulled, as 'skald ls' names it
  skald rm my-model other-model                of ~/.local/share/skald/models
  skald rm --dry-run hf://owner/name-GGUF      only say what would go

Bytes that another revision of the repository needs stay. What other programs keep is theirs.
)";

constexpr std::string_view kFirstPart = "-00001-of-";

// The parts of a split model of which `path` is the first; else the file itself.
std::vector<std::string> PartsOf(const std::string& path) {
  const size_t at = path.rfind(kFirstPart);
  if (at == std::string::npos) return {path};
  std::vector<std::string> parts;
  const std::string tail = path.substr(at + kFirstPart.size());
  for (int number = 1; number < 100'000; ++number) {
    std::string part = fmt::format("{}-{:05}-of-{}", path.substr(0, at), number, tail);
    std::error_code error;
    if (!fs::is_regular_file(part, error)) break;
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<RemovedModel> RemoveOwn(const std::string& path, RemoveMode mode) {
  RemovedModel removed = {.paths = PartsOf(path)};
  std::error_code error;
  for (const std::string& part : removed.paths) {
    removed.bytes += static_cast<int64_t>(fs::file_size(part, error));
    if (mode == RemoveMode::kRemove) fs::remove(part, error);
    if (error) return Status(ErrorCode::kIo, part + ": cannot remove: " + error.message());
  }
  return removed;
}

Result<RemovedModel> RemoveOne(const std::string& name, RemoveMode mode,
                               const Environment& environment) {
  if (const std::optional<ModelReference> reference = AsReference(name)) {
    ASSIGN_OR_RETURN(const HubOptions options, HubOptionsOf(environment));
    return Hub(options).Remove(*reference, mode);
  }
  const std::string folder = UserModelDirectory(environment);
  const auto is_called_so = [&](const FoundModel& model) { return model.name == name; };
  const std::vector<FoundModel> found = FindModels(environment);
  const auto here = std::find_if(found.begin(), found.end(), is_called_so);
  if (here != found.end() && !folder.empty() && here->path.starts_with(folder + "/"))
    return RemoveOwn(here->path, mode);
  const std::vector<FoundModel> others = ModelsOfOthers(environment);
  const auto other = std::find_if(others.begin(), others.end(), is_called_so);
  if (here != found.end() || other != others.end()) {
    const FoundModel& model = here != found.end() ? *here : *other;
    const std::string keeper = model.origin.empty() ? "" : ", where " + model.origin + " keeps it";
    return Status(ErrorCode::kUnsupported,
                  fmt::format("'{}' is {}{}; skald removes what it has pulled, and files in {}",
                              name, model.path, keeper, folder));
  }
  return Status(ErrorCode::kNotFound,
                fmt::format("no model named '{}'; 'skald ls' shows those there are", name));
}

// What was removed, or would be, by name.
using Removals = std::vector<std::pair<std::string, RemovedModel>>;

Result<Removals> RemoveAll(const RmOptions& options, RemoveMode mode,
                           const Environment& environment) {
  Removals removals;
  for (const std::string& name : options.models) {
    ASSIGN_OR_RETURN(RemovedModel removed, RemoveOne(name, mode, environment));
    removals.emplace_back(name, std::move(removed));
  }
  return removals;
}

std::string Text(const Removals& removals, RemoveMode mode) {
  std::string text;
  for (const auto& [name, removed] : removals)
    text += fmt::format("{} {}: {}\n", mode == RemoveMode::kLook ? "would remove" : "removed", name,
                        Bytes(removed.bytes));
  return text;
}

std::string Json(const Removals& removals, RemoveMode mode) {
  JsonWriter json;
  json.BeginObject().Key("dry_run").Bool(mode == RemoveMode::kLook).Key("models").BeginArray();
  for (const auto& [name, removed] : removals) {
    json.BeginObject().Key("name").String(name).Key("bytes").Int(removed.bytes);
    json.Key("paths").BeginArray();
    for (const std::string& path : removed.paths) json.String(path);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + '\n';
}

}  // namespace

void AddRmCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(root, {"rm", "Remove models that were pulled", kExamples});
  const auto options = std::make_shared<RmOptions>();
  AddTexts(verb, {"models", "as 'skald ls' names them"}, kModelType, options->models)
      .TakeAllWords()
      .Require();
  AddSwitch(verb, {"--dry-run", "only say what would go"}, options->mode, RemoveMode::kLook);
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Rm, &chosen);
}

Status Rm(const RmOptions& options, const Environment& environment, Console& console) {
  console.Configure(options.output.console);
  // All names are right, or nothing goes.
  ASSIGN_OR_RETURN(Removals removals, RemoveAll(options, RemoveMode::kLook, environment));
  if (options.mode == RemoveMode::kRemove) {
    ASSIGN_OR_RETURN(removals, RemoveAll(options, RemoveMode::kRemove, environment));
  }
  return console.Write(options.output.form == OutputForm::kJson ? Json(removals, options.mode)
                                                                : Text(removals, options.mode));
}

}  // namespace skald::cli
