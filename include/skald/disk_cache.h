/// DiskCache: what a server computed, kept in files for when memory is short, and for the next one.
///
/// A folder holds pages of K and V, each found by what it is a function of (docs/decisions/0033):
/// the model, the numerics version, how K and V are kept, the namespace, the tokens before and in
/// it. So an answer is the same whatever stands there, to the last bit. What was altered is found
/// out and computed again.
///
/// Prompts can be read out of such a folder: it is made with mode 0700, its files with 0600.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skald/status.h"

namespace skald {

namespace disk {
class PageFiles;
}

/// A folder that this process owns: no other can open it meanwhile.
class DiskCache {
 public:
  /// Makes the folder, if its parent is there, and opens all files: none is opened later. Its files
  /// never take more than `bytes`, at least a MiB. Errors: kIo; kInvalidArgument for a folder that
  /// others may write or that is another user's; kUnavailable while another process owns it.
  static Result<std::shared_ptr<DiskCache>> Open(const std::string& folder, int64_t bytes);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  /// 32 bytes that stay the same for the folder: `fresh`, where it has none yet. What namespaces
  /// are derived from must outlive a process, or it would find nothing again. Errors: kIo.
  Result<std::string> KeepSecret(const std::string& fresh);

  /// For the engine.
  disk::PageFiles& files() { return *files_; }

 private:
  explicit DiskCache(std::unique_ptr<disk::PageFiles> files);
  std::unique_ptr<disk::PageFiles> files_;
};

/// A file of such a folder.
struct DiskCacheSegment {
  std::string file;
  std::string label;       ///< of the engine that wrote it: the name of its model
  int64_t generation = 0;  ///< a higher one was begun later
  int64_t page_bytes = 0;
  int64_t bytes = 0;  ///< of the file
  int64_t pages = 0;
  int64_t damaged = 0;  ///< records that are not whole: torn when a process died, altered, or of
                        ///< what stood in the file before
};

/// How much of each record is read.
enum class DiskCacheCheck : uint8_t { kHeaders, kPages };

/// The segments of a folder, oldest first, without the empty ones. kPages reads all bytes, and the
/// folder must be nobody's meanwhile. Errors: kNotFound; kInvalidArgument as DiskCache::Open;
/// kUnavailable (kPages).
Result<std::vector<DiskCacheSegment>> ListDiskCache(const std::string& folder,
                                                    DiskCacheCheck check);

/// Empties the files of a folder, which stays with its secret. Errors: as DiskCache::Open, but
/// kNotFound where there is none.
Status ClearDiskCache(const std::string& folder);

}  // namespace skald
