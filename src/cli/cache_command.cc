#include "cli/cache_command.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/format.h"
#include "cli/table.h"
#include "skald/disk_cache.h"

namespace skald::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  skald cache ls DIR                       the files of a --cache-dir, the oldest first
  skald cache verify DIR                   reads all of them: which pages are damaged
  skald cache rm DIR                       empties them; the folder stays

A server must not be using the folder for 'verify' and 'rm'.
)";

constexpr std::array<Choice<CacheTask>, 3> kTasks = {
    {{"ls", CacheTask::kList}, {"verify", CacheTask::kVerify}, {"rm", CacheTask::kRemove}}};

struct Totals {
  int64_t bytes = 0;
  int64_t pages = 0;
  int64_t damaged = 0;
};

Totals TotalsOf(const std::vector<DiskCacheSegment>& segments) {
  Totals totals;
  for (const DiskCacheSegment& segment : segments) {
    totals.bytes += segment.bytes;
    totals.pages += segment.pages;
    totals.damaged += segment.damaged;
  }
  return totals;
}

std::string Text(const std::vector<DiskCacheSegment>& segments) {
  const Totals totals = TotalsOf(segments);
  Table table(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.Add({"file", "model", "page", "size", "pages", "damaged"});
  for (const DiskCacheSegment& segment : segments)
    table.Add({segment.file, segment.label, Bytes(segment.page_bytes), Bytes(segment.bytes),
               std::to_string(segment.pages), std::to_string(segment.damaged)});
  table.Add({"total", "", "", Bytes(totals.bytes), std::to_string(totals.pages),
             std::to_string(totals.damaged)});
  return table.Text();
}

std::string Json(const std::vector<DiskCacheSegment>& segments) {
  const Totals totals = TotalsOf(segments);
  JsonWriter json;
  json.BeginObject().Key("files").BeginArray();
  for (const DiskCacheSegment& segment : segments) {
    json.BeginObject().Key("file").String(segment.file).Key("model").String(segment.label);
    json.Key("page_bytes").Int(segment.page_bytes).Key("bytes").Int(segment.bytes);
    json.Key("pages").Int(segment.pages).Key("damaged").Int(segment.damaged).EndObject();
  }
  json.EndArray().Key("bytes").Int(totals.bytes).Key("pages").Int(totals.pages);
  json.Key("damaged").Int(totals.damaged).EndObject();
  return json.Take() + '\n';
}

}  // namespace

void AddCacheCommand(CLI::App& root, Action& chosen) {
  CLI::App& verb = AddVerb(
      root, {"cache", "What a server's --cache-dir holds: list it, check it, empty it", kExamples});
  const auto options = std::make_shared<CacheOptions>();
  AddChoice(
      verb,
      {"action", "ls: its files; verify: reads all pages; rm: empties it, while no server runs"},
      options->task, kTasks)
      .Require();
  AddText(verb, {"folder", "the folder that --cache-dir names"}, "DIR", options->folder).Require();
  AddOutputArgs(verb, options->output);
  ChooseWhenParsed(verb, options, Cache, &chosen);
}

Status Cache(const CacheOptions& options, const Environment&, Console& console) {
  console.Configure(options.output.console);
  if (options.task == CacheTask::kRemove) return ClearDiskCache(*options.folder);
  const bool verifies = options.task == CacheTask::kVerify;
  const DiskCacheCheck check = verifies ? DiskCacheCheck::kPages : DiskCacheCheck::kHeaders;
  ASSIGN_OR_RETURN(const auto segments, ListDiskCache(*options.folder, check));
  const bool as_json = options.output.form == OutputForm::kJson;
  RETURN_IF_ERROR(console.Write(as_json ? Json(segments) : Text(segments)));
  const int64_t damaged = TotalsOf(segments).damaged;
  if (!verifies || damaged == 0) return Ok();
  return Status(ErrorCode::kIo, fmt::format("{}: {} pages are damaged; a server computes them anew",
                                            *options.folder, damaged));
}

}  // namespace skald::cli
