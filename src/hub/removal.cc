#include "hub/removal.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "hub/partial_file.h"

namespace skald::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kState = ".partial.state";
constexpr std::string_view kLock = ".lock";

int64_t SizeOf(const fs::path& path) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

// The blob that a link means; empty for one that leads elsewhere, and for a file.
fs::path BlobOf(const fs::path& link, const fs::path& blobs) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (error) return {};
  const fs::path blob = (link.parent_path() / target).lexically_normal();
  return blob.parent_path() == blobs.lexically_normal() ? blob : fs::path();
}

// The blobs that names mean which stay.
std::set<fs::path> BlobsStillNamed(const fs::path& snapshots, const fs::path& blobs,
                                   const std::set<fs::path>& going) {
  std::set<fs::path> named;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(snapshots, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!going.contains(entry->path())) named.insert(BlobOf(entry->path(), blobs));
  }
  return named;
}

void AddUnfinished(const fs::path& blobs, Removal* removal) {
  std::error_code error;
  for (fs::directory_iterator entry(blobs, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!path.ends_with(kPartial)) continue;
    removal->blobs.push_back(path.substr(0, path.size() - kPartial.size()));
    removal->bytes += SizeOf(path);
  }
}

Status Remove(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (!error) return Ok();
  return Status(ErrorCode::kIo, path + ": cannot remove: " + error.message());
}

// Whoever fetches a file holds its lock, and is not waited for.
Result<FileLock> LockNow(const std::string& path) {
  Result<FileLock> lock = FileLock::Take(path, [] { return true; });
  if (!lock.ok() && lock.status().code() == ErrorCode::kCancelled)
    return Status(ErrorCode::kUnavailable, path + ": another process is fetching it");
  return lock;
}

// Its lock is held, and goes last. A process that waits for it just now would hold one that nobody
// else sees: then two could fetch the file at a time, and its hash would tell.
Status RemoveLocked(const std::string& path) {
  RETURN_IF_ERROR(Remove(path));
  for (const std::string_view tail : {kPartial, kState, kLock})
    RETURN_IF_ERROR(Remove(path + std::string(tail)));
  return Ok();
}

// Only those that are empty: a folder of files is not removed by this call.
void RemoveEmptyFolders(const fs::path& root) {
  std::error_code error;
  std::vector<fs::path> folders = {root};
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code kind_error;
    if (!entry->is_symlink(kind_error) && entry->is_directory(kind_error))
      folders.push_back(entry->path());
  }
  // Inner ones stand behind those that they are in.
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
    fs::remove(*folder, error);
}

// Of revisions whose commit has no file left.
void RemoveRefs(const CacheFolder& folder) {
  std::error_code error;
  std::vector<fs::path> refs;
  for (fs::recursive_directory_iterator entry(folder.root() + "/refs", error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code kind_error;
    if (!entry->is_regular_file(kind_error)) continue;
    const std::string text = ReadSmallFile(entry->path().string(), 64);
    const std::string commit = text.substr(0, text.find('\n'));
    if (IsHash(commit, 40) && folder.Files(commit).empty()) refs.push_back(entry->path());
  }
  for (const fs::path& ref : refs) fs::remove(ref, error);
}

}  // namespace

Removal RemovalOf(const CacheFolder& folder, const std::string& commit,
                  const std::vector<ListedFile>& files) {
  const fs::path blobs = folder.root() + "/blobs";
  Removal removal;
  std::set<fs::path> going;
  for (const ListedFile& file : files) going.insert(folder.FilePath(commit, file.path));
  const std::set<fs::path> named = BlobsStillNamed(folder.root() + "/snapshots", blobs, going);
  std::set<fs::path> blobs_going;
  for (const fs::path& name : going) {
    removal.names.push_back(name.string());
    std::error_code error;
    if (!fs::is_symlink(name, error)) removal.bytes += SizeOf(name);
    const fs::path blob = BlobOf(name, blobs);
    if (!blob.empty() && !named.contains(blob)) blobs_going.insert(blob);
  }
  for (const fs::path& blob : blobs_going) {
    removal.blobs.push_back(blob.string());
    removal.bytes += SizeOf(blob);
  }
  AddUnfinished(blobs, &removal);
  return removal;
}

Status RemoveFile(const std::string& path) {
  ASSIGN_OR_RETURN(const FileLock lock, LockNow(path));
  return RemoveLocked(path);
}

Status Carry(const CacheFolder& folder, const Removal& removal) {
  // All locks before anything goes: a model is removed whole or not at all.
  std::vector<FileLock> locks;
  for (const std::string& blob : removal.blobs) {
    ASSIGN_OR_RETURN(FileLock lock, LockNow(blob));
    locks.push_back(std::move(lock));
  }
  // Names first: a name without bytes is no model, bytes without a name are only waste.
  for (const std::string& name : removal.names) RETURN_IF_ERROR(Remove(name));
  for (const std::string& blob : removal.blobs) RETURN_IF_ERROR(RemoveLocked(blob));
  RemoveRefs(folder);
  RemoveEmptyFolders(folder.root());
  return Ok();
}

}  // namespace skald::hub
