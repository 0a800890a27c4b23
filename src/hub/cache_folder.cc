#include "hub/cache_folder.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/status_macros.h"
#include "hub/partial_file.h"

namespace skald::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCommitDigits = 40;

bool IsCommit(std::string_view text) { return IsHash(text, kCommitDigits); }

Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return Ok();
  return Status(ErrorCode::kIo, path.string() + ": cannot make: " + error.message());
}

}  // namespace

CacheFolder::CacheFolder(const std::string& cache_dir, const ModelReference& reference)
    : root_(cache_dir + "/models--" + reference.owner + "--" + reference.name),
      revision_(reference.revision) {}

std::string CacheFolder::Commit() const {
  if (IsCommit(revision_)) return revision_;
  const std::string text = ReadSmallFile(root_ + "/refs/" + revision_, kCommitDigits + 1);
  const std::string commit = text.substr(0, text.find('\n'));
  return IsCommit(commit) ? commit : std::string();
}

std::vector<ListedFile> CacheFolder::Files(const std::string& commit) const {
  std::vector<ListedFile> files;
  const fs::path folder = root_ + "/snapshots/" + commit;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    // A link whose blob is gone is no file.
    std::error_code file_error;
    if (!entry->is_regular_file(file_error)) continue;
    const uint64_t bytes = entry->file_size(file_error);
    files.push_back({.path = entry->path().lexically_relative(folder).string(),
                     .bytes = file_error ? 0 : static_cast<int64_t>(bytes)});
  }
  return files;
}

std::string CacheFolder::FilePath(const std::string& commit, std::string_view path) const {
  return root_ + "/snapshots/" + commit + "/" + std::string(path);
}

std::string CacheFolder::BlobPath(std::string_view blob) const {
  return root_ + "/blobs/" + std::string(blob);
}

Status CacheFolder::Make() const {
  for (const char* name : {"/blobs", "/refs", "/snapshots"})
    RETURN_IF_ERROR(MakeFolder(root_ + name));
  return Ok();
}

Status CacheFolder::Link(const std::string& commit, const RemoteFile& file) const {
  const fs::path link = FilePath(commit, file.path);
  RETURN_IF_ERROR(MakeFolder(link.parent_path()));
  // Relative, so that the cache can be moved.
  const fs::path target = fs::path(BlobPath(file.blob)).lexically_relative(link.parent_path());
  ASSIGN_OR_RETURN(const std::string made, MakeBeside(link.string(), [&](const char* name) {
                     return symlink(target.c_str(), name);
                   }));
  // What may have the name is a link to a blob that is gone, or what another pull has just made.
  return Rename(made, link.string());
}

Status CacheFolder::SetCommit(const std::string& commit) const {
  if (IsCommit(revision_)) return Ok();
  const fs::path path = root_ + "/refs/" + revision_;
  RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  return WriteSmallFile(path.string(), commit);
}

}  // namespace skald::hub
