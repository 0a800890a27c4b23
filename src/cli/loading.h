/// Loading a model with a progress bar.
#pragma once

#include <string>

#include "cli/console.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::cli {

/// LoadModel with a bar on stderr (if that is a terminal) once it has taken a second; the bar is
/// wiped away at the end. Warnings about the file go to stderr. Errors: as LoadModel.
Result<Model> LoadWithProgress(const std::string& path, int threads, Console& console);

/// "loading [######......]  52%  1.2 GiB of 2.3 GiB", at most `columns` wide; without the bar where
/// there is no room for one.
std::string ProgressLine(int64_t done_bytes, int64_t total_bytes, int columns);
}  // namespace skald::cli
