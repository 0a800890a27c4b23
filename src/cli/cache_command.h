/// `skald cache`: what a server's --cache-dir holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// What to do with the folder.
enum class CacheTask : uint8_t { kList, kVerify, kRemove };

/// What `skald cache` was asked to do.
struct CacheOptions {
  CacheTask task = CacheTask::kList;
  std::optional<std::string> folder;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddCacheCommand(CLI::App& root, Action& chosen);

/// Prints the files of the folder and how many pages each holds; kVerify reads every byte of them;
/// kRemove empties them. Errors: those of ListDiskCache, ClearDiskCache and Console::Write; kIo
/// where kVerify found damage, which a server computes anew.
Status Cache(const CacheOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
