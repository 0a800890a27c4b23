#include "cli/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "cli/format.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/model_lookup.h"

namespace skald::cli {

namespace {

namespace fs = std::filesystem;

constexpr double kRedrawSeconds = 0.1;
// A model in memory is its file, packed: between 1.0 and 1.1 times as large. K and V come on top.
constexpr double kMemoryShare = 1.1;

// Draws the line of a pull.
class PullLine {
 public:
  explicit PullLine(Console& console) : console_(console) {}
  ~PullLine() {
    if (is_drawn_) console_.Decorate(kEraseLine);
  }
  PullLine(const PullLine&) = delete;
  PullLine& operator=(const PullLine&) = delete;

  void Show(const PullWatch::Progress& progress) {
    if (first_bytes_ < 0 && progress.stage == PullWatch::Stage::kFetch && progress.done_bytes > 0) {
      first_bytes_ = progress.done_bytes;  // what lay there already came in no time
      since_ = Stopwatch();
    }
    if (progress.stage == PullWatch::Stage::kWait && !has_waited_) {
      has_waited_ = true;
      console_.Note("skald: another process is pulling it; waiting for that");
    }
    if (is_drawn_ && drawn_.Seconds() < kRedrawSeconds) return;
    drawn_ = Stopwatch();
    is_drawn_ = true;
    console_.Decorate(fmt::format("{}{}", kEraseLine, Text(progress)));
  }

 private:
  std::string Text(const PullWatch::Progress& progress) const {
    constexpr std::array<std::string_view, 3> kWords = {"waiting", "pulling", "checking"};
    std::string figures =
        fmt::format("{} of {}", Bytes(progress.done_bytes), Bytes(progress.total_bytes));
    const double seconds = since_.Seconds();
    if (progress.stage == PullWatch::Stage::kFetch && first_bytes_ >= 0 && seconds > 1) {
      const double rate = static_cast<double>(progress.done_bytes - first_bytes_) / seconds;
      figures += fmt::format(", {}/s", Bytes(static_cast<int64_t>(rate)));
    }
    return ProgressLine({kWords[static_cast<size_t>(progress.stage)], progress.done_bytes,
                         progress.total_bytes, figures},
                        TerminalColumns());
  }

  Console& console_;
  Stopwatch drawn_;
  Stopwatch since_;
  int64_t first_bytes_ = -1;
  bool is_drawn_ = false;
  bool has_waited_ = false;
};

// "owner/name" may as well be a path that is misspelled; with a folder of that name it is one.
bool IsBareReference(const std::string& name) {
  if (name.starts_with('.') || name.starts_with('/') || name.starts_with('~')) return false;
  if (std::count(name.begin(), name.end(), '/') != 1 || name.ends_with(".gguf")) return false;
  std::error_code error;
  return !fs::exists(name, error) && !fs::exists(name.substr(0, name.find('/')), error);
}

}  // namespace

Result<HubOptions> HubOptionsOf(const Environment& environment) {
  HubOptions options;
  options.cache_dir = environment.hub.cache_dir;
  options.files_dir = UserModelDirectory(environment);
  if (!environment.hub.endpoint.empty()) options.endpoint = environment.hub.endpoint;
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  options.token = environment.hub.token;
  options.ca_file = environment.hub.ca_file;
  std::error_code error;
  if (options.token.empty() && fs::is_regular_file(environment.hub.token_file, error)) {
    ASSIGN_OR_RETURN(std::string text, ReadInput(environment.hub.token_file));
    options.token = WithoutFinalNewline(std::move(text));
  }
  // It becomes a line of a request.
  const bool is_line = std::all_of(options.token.begin(), options.token.end(),
                                   [](char c) { return c > ' ' && c < 127; });
  if (!is_line)
    return Status(ErrorCode::kInvalidArgument, "the token of HF_TOKEN or its file is no word");
  return options;
}

std::optional<ModelReference> AsReference(const std::string& name) {
  const bool says_so =
      std::any_of(kModelSources.begin(), kModelSources.end(),
                  [&](std::string_view source) { return name.starts_with(source); });
  if (!says_so && !IsBareReference(name)) return std::nullopt;
  Result<ModelReference> reference = ParseModelReference(name);
  if (!reference.ok()) return std::nullopt;
  return *std::move(reference);
}

Result<Pulled> PullWithProgress(const HubOptions& options, const ModelReference& reference,
                                Console& console) {
  const InterruptScope interrupt;
  const Hub hub(options);
  PullWatch watch = {.stop = [] { return InterruptScope::Requested(); }};
  ASSIGN_OR_RETURN(RemoteModel model, hub.Find(reference, watch));
  const std::string& first = model.files.front().path;
  const std::string parts =
      model.files.size() > 1 ? fmt::format(" and {} more", model.files.size() - 1) : std::string();
  console.Note(
      fmt::format("skald: pulling {}: {}{}, {} (about {} of memory to run)", ToText(reference),
                  first, parts, Bytes(model.bytes),
                  Bytes(static_cast<int64_t>(static_cast<double>(model.bytes) * kMemoryShare))));
  const Stopwatch stopwatch;
  Result<std::string> path = [&] {
    PullLine line(console);
    watch.progress = [&](const PullWatch::Progress& progress) { line.Show(progress); };
    return hub.Pull(model, watch);
  }();
  if (!path.ok()) {
    if (path.status().code() == ErrorCode::kCancelled)
      console.Note("skald: stopped; the same command goes on with what has come");
    return std::move(path).status();
  }
  const bool is_checked = std::all_of(model.files.begin(), model.files.end(),
                                      [](const RemoteFile& file) { return !file.sha256.empty(); });
  console.Note(fmt::format(
      "skald: pulled in {}, {}", Duration(stopwatch.Seconds()),
      is_checked ? "SHA-256 as the hub says" : "not checked: the server names no SHA-256"));
  return Pulled{std::move(model), *std::move(path)};
}

Result<std::string> LocateModel(const Environment& environment, const std::string& name,
                                Console& console) {
  const std::optional<ModelReference> reference = AsReference(name);
  if (!reference) {
    // An address that names no model, said in the words of who reads addresses.
    const bool is_address = name.starts_with("hf://") || name.find("://") != std::string::npos;
    if (is_address) RETURN_IF_ERROR(ParseModelReference(name).status());
    return FindModel(environment, name);
  }
  ASSIGN_OR_RETURN(const HubOptions options, HubOptionsOf(environment));
  Result<std::string> cached = Hub(options).Cached(*reference);
  if (cached.ok()) return cached;
  if (environment.hub.is_offline)
    return Status(ErrorCode::kUnavailable,
                  ToText(*reference) + " is not here, and HF_HUB_OFFLINE forbids to fetch it");
  ASSIGN_OR_RETURN(Pulled pulled, PullWithProgress(options, *reference, console));
  return std::move(pulled.path);
}

}  // namespace skald::cli
