/// DiskUse of the folders that a hub has on this machine.
#pragma once

#include <string>
#include <vector>

#include "skald/hub.h"

namespace skald::hub {

/// One for each repository of a cache.
std::vector<DiskUse> UseOfCache(const std::string& cache_dir);

/// One for each file, what has come of it counted with it.
std::vector<DiskUse> UseOfFiles(const std::string& files_dir);

}  // namespace skald::hub
