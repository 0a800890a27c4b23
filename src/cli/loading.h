/// Loading a model with a progress bar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/console.h"
#include "cli/options.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::cli {

/// What the ranks of a model that is split are.
enum class RanksAs : uint8_t {
  kProcesses,  ///< each with memory of its own (MeetRanks)
  kThreads,    ///< of this process, which can look at all of them
};

/// LoadModel, with the threads and conventions of `engine`, with a bar on stderr (if that is a
/// terminal) once it has taken a second; the bar is wiped away at the end. Warnings about the file
/// go to stderr. Errors: as LoadModel.
Result<Model> LoadWithProgress(const std::string& path, const EngineArgs& engine, Console& console,
                               RanksAs ranks = RanksAs::kProcesses);

/// What a progress line says.
struct Progress {
  std::string_view word;  ///< "loading"
  int64_t done = 0;
  int64_t total = 0;
  std::string figures;  ///< "1.2 GiB of 2.3 GiB"
};

/// "loading [######......]  52%  1.2 GiB of 2.3 GiB", narrower than `columns`; without the bar, the
/// figures, the word where there is no room for them. Empty if there is room for nothing.
std::string ProgressLine(const Progress& progress, int columns);

/// Takes a progress line off the terminal.
inline constexpr std::string_view kEraseLine = "\r\x1b[K";

/// Says so if the context is longer than what the model was made for.
void WarnOfContext(const ModelInfo& info, int64_t context, Console& console);

/// Says so if speculation was asked for and the model gets none.
void WarnOfSpeculation(const ModelInfo& info, const SpeculationOptions& options, Console& console);

}  // namespace skald::cli
