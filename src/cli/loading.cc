#include "cli/loading.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "cli/environment.h"
#include "cli/format.h"
#include "cli/rank_args.h"

namespace skald::cli {

namespace {

// Faster than the eye wants, slow enough that writing costs nothing.
constexpr double kRedrawSeconds = 0.1;
// A bar that flashes up for less than this is noise.
constexpr double kPatienceSeconds = 1.0;

}  // namespace

std::string ProgressLine(const Progress& progress, int columns) {
  const double share =
      progress.total > 0
          ? std::clamp(static_cast<double>(progress.done) / static_cast<double>(progress.total),
                       0.0, 1.0)
          : 0.0;
  const std::string percent = fmt::format("{:3.0f}%", share * 100);
  const std::string figures = fmt::format("{}  {}", percent, progress.figures);
  constexpr int kBarMin = 10;
  constexpr int kBarMax = 40;
  // A space, two brackets, two spaces, and the last column stays free: some terminals wrap there.
  const int room = columns - static_cast<int>(progress.word.size() + figures.size()) - 6;
  if (room >= kBarMin) {
    const int width = std::min(room, kBarMax);
    const int filled = static_cast<int>(share * width);
    return fmt::format("{} [{}{}]  {}", progress.word,
                       std::string(static_cast<size_t>(filled), '#'),
                       std::string(static_cast<size_t>(width - filled), '.'), figures);
  }
  for (const std::string& line : {fmt::format("{} {}", progress.word, figures),
                                  fmt::format("{} {}", progress.word, percent), percent})
    if (static_cast<int>(line.size()) < columns) return line;
  return {};
}

void WarnOfContext(const ModelInfo& info, int64_t context, Console& console) {
  if (context <= info.context_length) return;
  console.Note(
      fmt::format("skald: warning: the context of {} tokens is beyond the {} of the model; "
                  "what it writes there may make no sense (--rope-scaling yarn and --rope-scale "
                  "stretch it, --endless forgets the middle of a text)",
                  context, info.context_length));
}

void WarnOfSpeculation(const ModelInfo& info, const SpeculationOptions& options, Console& console) {
  if (options.kind == Speculation::kOff || info.state_bytes == 0) return;
  console.Note(
      "skald: warning: no tokens are guessed ahead: layers of this model carry a state, which "
      "cannot be taken back behind a wrong guess");
}

Result<Model> LoadWithProgress(const std::string& path, const EngineArgs& engine, Console& console,
                               RanksAs ranks) {
  const Stopwatch watch;
  double drawn_at = 0;  // seconds on the watch; 0 = not yet
  LoadOptions options;
  options.path = path;
  options.threads = engine.threads;
  options.ranks = engine.ranks.count;
  options.conventions = engine.conventions;
  options.rope = engine.rope;
  options.endless = engine.endless;
  options.progress = [&](int64_t done_bytes, int64_t total_bytes) {
    const double now = watch.Seconds();
    if (now < kPatienceSeconds || now - drawn_at < kRedrawSeconds) return;
    drawn_at = now;
    const Progress progress{"loading", done_bytes, total_bytes,
                            fmt::format("{} of {}", Bytes(done_bytes), Bytes(total_bytes))};
    console.Decorate(fmt::format("{}{}", kEraseLine, ProgressLine(progress, TerminalColumns())));
  };
  if (ranks == RanksAs::kProcesses) {
    ASSIGN_OR_RETURN(options.group, MeetRanks(engine.ranks, console));
  } else if (engine.ranks.listen) {
    return Status(ErrorCode::kInvalidArgument,
                  "--rank-listen: this verb looks into all ranks, so they are threads of its own");
  }
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
