#include "cli/du_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/model_source.h"
#include "cli/table.h"
#include "skald/hub.h"

namespace skald::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  skald du                                 what was pulled, the largest first
  skald du --json | jq '.bytes'            how much it is

'skald rm' makes room.
)";

struct DiskReport {
  std::vector<DiskUse> uses;
  int64_t bytes = 0;
  int64_t unfinished_bytes = 0;
  int64_t free_bytes = -1;  // where models are pulled to; -1: no such folder yet
};

DiskReport ReportOf(const HubOptions& options) {
  DiskReport report = {.uses = Hub(options).Usage()};
  for (const DiskUse& use : report.uses) {
    report.bytes += use.bytes;
    report.unfinished_bytes += use.unfinished_bytes;
  }
  std::error_code error;
  const fs::space_info space = fs::space(options.cache_dir, error);
  if (!error) report.free_bytes = static_cast<int64_t>(space.available);
  return report;
}

std::string Text(const DiskReport& report) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  table.Add({"name", "size", "unfinished", "path"});
  const auto unfinished = [](int64_t bytes) {
    return bytes == 0 ? std::string("-") : Bytes(bytes);
  };
  for (const DiskUse& use : report.uses)
    table.Add({use.name, Bytes(use.bytes), unfinished(use.unfinished_bytes), use.path});
  table.Add({"total", Bytes(report.bytes), unfinished(report.unfinished_bytes), ""});
  if (report.free_bytes >= 0) table.Add({"free", Bytes(report.free_bytes), "", ""});
  return table.Text();
}

std::string Json(const DiskReport& report) {
  JsonWriter json;
  json.BeginObject().Key("models").BeginArray();
  for (const DiskUse& use : report.uses) {
    json.BeginObject().Key("name").String(use.name).Key("path").String(use.path);
    json.Key("bytes").Int(use.bytes).Key("unfinished_bytes").Int(use.unfinished_bytes).EndObject();
  }
  json.EndArray().Key("bytes").Int(report.bytes);
  json.Key("unfinished_bytes").Int(report.unfinished_bytes);
  if (report.free_bytes >= 0) json.Key("free_bytes").Int(report.free_bytes);
  json.EndObject();
  return json.Take() + '\n';
}

}  // namespace

void AddDuCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb =
      AddVerb(root, {"du", "What the models that were pulled take of the disk", kExamples});
  const auto options = std::make_shared<OutputArgs>();
  AddOutputArgs(verb, *options);
  ChooseWhenParsed(verb, options, Du, &chosen);
}

Status Du(const OutputArgs& options, const Environment& environment, Console& console) {
  console.Configure(options.console);
  ASSIGN_OR_RETURN(const HubOptions hub, HubOptionsOf(environment));
  const DiskReport report = ReportOf(hub);
  return console.Write(options.form == OutputForm::kJson ? Json(report) : Text(report));
}

}  // namespace skald::cli
