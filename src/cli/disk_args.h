/// The folder behind an engine, as `serve` and `bench` take it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/cli11_forward.h"
#include "skald/disk_cache.h"
#include "skald/status.h"

namespace skald::cli {

struct DiskArgs {
  std::optional<std::string> folder = {};
  int64_t bytes = int64_t{8} << 30;  ///< of it at most
};

/// Adds --cache-dir and --cache-disk under a heading of the help.
void AddDiskArgs(CLI::App& app, const char* group, DiskArgs& args);

/// Null without a folder. Errors: as DiskCache::Open.
Result<std::shared_ptr<DiskCache>> OpenDisk(const DiskArgs& args);

}  // namespace skald::cli
