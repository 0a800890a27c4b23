/// CacheFolder: one repository in Hugging Face's cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hub/file_list.h"
#include "skald/hub.h"
#include "skald/status.h"

namespace skald::hub {

/// See skald/hub.h for the layout.
class CacheFolder {
 public:
  /// Of `reference`, which is no address. Nothing is touched.
  CacheFolder(const std::string& cache_dir, const ModelReference& reference);

  /// The commit that the reference's revision was when it was last asked for, or the revision
  /// itself if it is a commit; empty if nobody has asked.
  std::string Commit() const;
  /// The files of a commit that are here.
  std::vector<ListedFile> Files(const std::string& commit) const;
  std::string FilePath(const std::string& commit, std::string_view path) const;
  std::string BlobPath(std::string_view blob) const;
  const std::string& root() const { return root_; }

  /// Makes the folders. Errors: kIo.
  Status Make() const;
  /// Gives a blob its name in a commit, and the revision its commit. Errors: kIo.
  Status Link(const std::string& commit, const RemoteFile& file) const;
  Status SetCommit(const std::string& commit) const;

 private:
  std::string root_;
  std::string revision_;
};

}  // namespace skald::hub
