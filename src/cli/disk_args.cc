#include "cli/disk_args.h"

#include "cli/flags.h"

namespace skald::cli {

void AddDiskArgs(CLI::App& app, const char* group, DiskArgs& args) {
  AddText(app,
          {"--cache-dir",
           "folder that keeps prompts which were computed, for when memory is short and for the "
           "next start"},
          "DIR", args.folder)
      .Group(group);
  AddBytes(app, {"--cache-disk", "bytes (8G) that --cache-dir takes at most (default 8G)"},
           args.bytes, int64_t{1} << 50)
      .Group(group);
}

Result<std::shared_ptr<DiskCache>> OpenDisk(const DiskArgs& args) {
  if (!args.folder) return std::shared_ptr<DiskCache>();
  return DiskCache::Open(*args.folder, args.bytes);
}

}  // namespace skald::cli
