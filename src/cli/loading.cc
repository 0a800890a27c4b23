#include "cli/loading.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "cli/environment.h"
#include "cli/format.h"

namespace skald::cli {

namespace {

// Faster than the eye wants, slow enough that writing costs nothing.
constexpr double kRedrawSeconds = 0.1;
// A bar that flashes up for less than this is noise.
constexpr double kPatienceSeconds = 1.0;

constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

std::string ProgressLine(int64_t done_bytes, int64_t total_bytes, int columns) {
  const double share =
      total_bytes > 0
          ? std::clamp(static_cast<double>(done_bytes) / static_cast<double>(total_bytes), 0.0, 1.0)
          : 0.0;
  const std::string figures =
      fmt::format("{:3.0f}%  {} of {}", share * 100, Bytes(done_bytes), Bytes(total_bytes));
  constexpr std::string_view kWord = "loading ";
  constexpr int kBarMin = 10;
  constexpr int kBarMax = 40;
  // Two brackets, two spaces, and the last column stays free: some terminals wrap there.
  const int room = columns - static_cast<int>(kWord.size() + figures.size()) - 5;
  if (room < kBarMin) return fmt::format("{}{}", kWord, figures);
  const int width = std::min(room, kBarMax);
  const int filled = static_cast<int>(share * width);
  return fmt::format("{}[{}{}]  {}", kWord, std::string(static_cast<size_t>(filled), '#'),
                     std::string(static_cast<size_t>(width - filled), '.'), figures);
}

Result<Model> LoadWithProgress(const std::string& path, int threads, Console& console) {
  const Stopwatch watch;
  double drawn_at = 0;  // seconds on the watch; 0 = not yet
  LoadOptions options;
  options.path = path;
  options.threads = threads;
  options.progress = [&](int64_t done_bytes, int64_t total_bytes) {
    const double now = watch.Seconds();
    if (now < kPatienceSeconds || now - drawn_at < kRedrawSeconds) return;
    drawn_at = now;
    console.Decorate(fmt::format("\r{}", ProgressLine(done_bytes, total_bytes, TerminalColumns())));
  };
  Result<Model> model = LoadModel(options);
  if (drawn_at > 0) console.Decorate(kEraseLine);
  if (model.ok()) {
    const ModelInfo& info = model->info();
    for (const std::string& warning : info.warnings) {
      console.Note(fmt::format("skald: warning: {}: {}", info.path, warning));
    }
    console.Detail(fmt::format("model: {} ({}, {} parameters, {}), {} in memory, loaded in {}",
                               info.name, info.architecture, Count(info.parameter_count),
                               info.weights_type, Bytes(info.weight_bytes),
                               Duration(watch.Seconds())));
  }
  return model;
}

}  // namespace skald::cli
