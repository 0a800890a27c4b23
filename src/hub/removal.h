/// Removal: which files of a cache go when a model goes, and that they do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hub/cache_folder.h"
#include "skald/hub.h"
#include "skald/status.h"

namespace skald::hub {

/// What goes.
struct Removal {
  std::vector<std::string> names;  ///< in a commit
  std::vector<std::string> blobs;  ///< bytes, whole or not
  int64_t bytes = 0;               ///< that the disk has free then
};

/// The names of these files of a commit, their bytes but for those that another name means too, and
/// what has come of files of the repository that are not whole yet. A link that leads out of the
/// folder of bytes is not followed: only the link goes.
Removal RemovalOf(const CacheFolder& folder, const std::string& commit,
                  const std::vector<ListedFile>& files);

/// Removes it, and folders of the repository that are empty then. Errors: kUnavailable, and nothing
/// is gone, while another process fetches one of the files; kIo, and what is gone stays gone.
Status Carry(const CacheFolder& folder, const Removal& removal);

/// Removes one file with what has come of it. Errors: as above.
Status RemoveFile(const std::string& path);

}  // namespace skald::hub
