#include "skald/hub.h"

#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/status_macros.h"
#include "hub/cache_folder.h"
#include "hub/disk_use.h"
#include "hub/download.h"
#include "hub/file_list.h"
#include "hub/removal.h"
#include "hub/transfer.h"

namespace skald {
namespace {

namespace fs = std::filesystem;

// A page of a list has a thousand entries of some 300 bytes.
constexpr int64_t kMostPageBytes = int64_t{16} << 20;
constexpr int kMostPages = 100;

// As it stands in an address (RFC 3986).
std::string Escape(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '/';
    if (is_plain) {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += '%';
    escaped += kDigits[byte >> 4];
    escaped += kDigits[byte & 15];
  }
  return escaped;
}

std::string RepositoryPath(const ModelReference& reference) {
  return reference.owner + "/" + reference.name;
}

std::string FileNameOf(std::string_view url) {
  const std::string_view path = url.substr(0, url.find_first_of("?#"));
  return std::string(path.substr(path.rfind('/') + 1));
}

bool HasSize(const std::string& path, int64_t bytes) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  return !error && size == static_cast<uint64_t>(bytes);
}

// Asks a hub about one repository.
class HubQuery {
 public:
  HubQuery(hub::Session& session, const HubOptions& options, const PullWatch& watch)
      : session_(session), options_(options), watch_(watch) {}

  Result<std::string> Commit(const ModelReference& reference) {
    ASSIGN_OR_RETURN(const hub::SmallAnswer answer,
                     Get(options_.endpoint + "/api/models/" + RepositoryPath(reference) +
                         "/revision/" + Escape(reference.revision)));
    return hub::ReadCommit(answer.body);
  }

  Result<std::vector<hub::ListedFile>> Files(const ModelReference& reference,
                                             const std::string& commit) {
    std::vector<hub::ListedFile> files;
    std::string url = options_.endpoint + "/api/models/" + RepositoryPath(reference) + "/tree/" +
                      commit + "?recursive=true";
    for (int page = 0; page < kMostPages && !url.empty(); ++page) {
      ASSIGN_OR_RETURN(const hub::SmallAnswer answer, Get(url));
      RETURN_IF_ERROR(hub::AppendFileList(answer.body, &files));
      url = answer.head.next_page;
      // The token goes there, too.
      if (!url.empty() && !url.starts_with(options_.endpoint + "/"))
        return Status(ErrorCode::kUnavailable, "the list goes on at another host: " + url);
    }
    return files;
  }

 private:
  Result<hub::SmallAnswer> Get(const std::string& url) {
    return hub::FetchSmall(
        session_,
        {.url = url, .token = options_.token, .patience_seconds = options_.patience_seconds},
        kMostPageBytes, watch_.stop);
  }

  hub::Session& session_;
  const HubOptions& options_;
  const PullWatch& watch_;
};

Result<RemoteModel> FindAddress(hub::Session& session, const ModelReference& reference,
                                const HubOptions& options, const PullWatch& watch) {
  ASSIGN_OR_RETURN(
      const hub::RemoteFacts facts,
      hub::AskFacts(session, {.url = reference.url, .patience_seconds = options.patience_seconds},
                    watch.stop));
  RemoteModel model = {.reference = reference, .bytes = facts.bytes};
  model.files.push_back({.path = FileNameOf(reference.url),
                         .url = reference.url,
                         .sha256 = facts.sha256,
                         .bytes = facts.bytes});
  return model;
}

Result<RemoteModel> FindRepository(hub::Session& session, const ModelReference& reference,
                                   const HubOptions& options, const PullWatch& watch) {
  HubQuery query(session, options, watch);
  RemoteModel model = {.reference = reference};
  ASSIGN_OR_RETURN(model.commit, query.Commit(reference));
  ASSIGN_OR_RETURN(const std::vector<hub::ListedFile> all, query.Files(reference, model.commit));
  ASSIGN_OR_RETURN(const std::vector<hub::ListedFile> chosen,
                   hub::ChooseModel(all, reference.choice));
  for (const hub::ListedFile& file : chosen) {
    model.files.push_back({.path = file.path,
                           .url = options.endpoint + "/" + RepositoryPath(reference) + "/resolve/" +
                                  model.commit + "/" + Escape(file.path),
                           .sha256 = file.sha256,
                           .blob = file.blob,
                           .bytes = file.bytes});
    model.bytes += file.bytes;
  }
  return model;
}

// Fetches one file unless it is there.
class Puller {
 public:
  Puller(const HubOptions& options, const RemoteModel& model, const PullWatch& watch)
      : options_(options), model_(model), watch_(watch) {}

  Status Pull(const RemoteFile& file, const std::string& target) {
    if (!HasSize(target, file.bytes)) {
      ASSIGN_OR_RETURN(const hub::FileLock lock, hub::FileLock::Take(target, [&] {
                         return !Watch(file, PullWatch::Stage::kWait, 0);
                       }));
      // Another process may have fetched it while this one waited.
      if (!HasSize(target, file.bytes)) RETURN_IF_ERROR(Fetch(file, target));
    }
    done_bytes_ += file.bytes;
    return Ok();
  }

 private:
  Status Fetch(const RemoteFile& file, const std::string& target) {
    ASSIGN_OR_RETURN(hub::Session session, hub::Session::Create(options_.ca_file));
    const hub::DownloadTask task = {
        .file = file, .target = target, .token = file.blob.empty() ? "" : options_.token};
    return hub::Download(session, task, options_, [&](PullWatch::Stage stage, int64_t done) {
      return Watch(file, stage, done);
    });
  }

  bool Watch(const RemoteFile& file, PullWatch::Stage stage, int64_t done) {
    if (watch_.progress)
      watch_.progress({.stage = stage,
                       .file = file.path,
                       .done_bytes = done_bytes_ + done,
                       .total_bytes = model_.bytes});
    return !(watch_.stop && watch_.stop());
  }

  const HubOptions& options_;
  const RemoteModel& model_;
  const PullWatch& watch_;
  int64_t done_bytes_ = 0;  // of the files before
};

Result<std::string> PullAddress(const RemoteModel& model, const HubOptions& options,
                                const PullWatch& watch) {
  const RemoteFile& file = model.files.front();
  std::error_code error;
  fs::create_directories(options.files_dir, error);
  if (error) return Status(ErrorCode::kIo, options.files_dir + ": cannot make: " + error.message());
  const std::string target = options.files_dir + "/" + file.path;
  if (fs::exists(target, error) && !HasSize(target, file.bytes))
    return Status(ErrorCode::kInvalidArgument,
                  target + " is another file than " + file.url + "; move it or remove it first");
  RETURN_IF_ERROR(Puller(options, model, watch).Pull(file, target));
  return target;
}

Result<std::string> PullRepository(const RemoteModel& model, const HubOptions& options,
                                   const PullWatch& watch) {
  const hub::CacheFolder folder(options.cache_dir, model.reference);
  RETURN_IF_ERROR(folder.Make());
  Puller puller(options, model, watch);
  for (const RemoteFile& file : model.files) {
    RETURN_IF_ERROR(puller.Pull(file, folder.BlobPath(file.blob)));
    if (!HasSize(folder.FilePath(model.commit, file.path), file.bytes))
      RETURN_IF_ERROR(folder.Link(model.commit, file));
  }
  // Last: who looks for the revision finds whole files.
  RETURN_IF_ERROR(folder.SetCommit(model.commit));
  return folder.FilePath(model.commit, model.files.front().path);
}

Status NotHere(const ModelReference& reference) {
  return Status(ErrorCode::kNotFound, ToText(reference) + " is not here");
}

// The file that an address was pulled to, if it is here.
Result<std::string> AddressPath(const ModelReference& reference, const HubOptions& options) {
  const std::string path = options.files_dir + "/" + FileNameOf(reference.url);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return NotHere(reference);
  return path;
}

// The parts of the model that are in the commit its revision was when it was last asked for; none
// if it is not here.
std::vector<hub::ListedFile> FilesHere(const hub::CacheFolder& folder,
                                       const ModelReference& reference) {
  const std::string commit = folder.Commit();
  if (commit.empty()) return {};
  Result<std::vector<hub::ListedFile>> files =
      hub::ChooseModel(folder.Files(commit), reference.choice);
  if (!files.ok()) return {};
  return *std::move(files);
}

}  // namespace

Result<std::string> Hub::Cached(const ModelReference& reference) const {
  if (!reference.url.empty()) return AddressPath(reference, options_);
  const hub::CacheFolder folder(options_.cache_dir, reference);
  const std::vector<hub::ListedFile> files = FilesHere(folder, reference);
  if (files.empty()) return NotHere(reference);
  return folder.FilePath(folder.Commit(), files.front().path);
}

Result<RemovedModel> Hub::Remove(const ModelReference& reference, RemoveMode mode) const {
  if (!reference.url.empty()) {
    ASSIGN_OR_RETURN(const std::string path, AddressPath(reference, options_));
    std::error_code error;
    RemovedModel removed = {.paths = {path},
                            .bytes = static_cast<int64_t>(fs::file_size(path, error))};
    if (mode == RemoveMode::kRemove) RETURN_IF_ERROR(hub::RemoveFile(path));
    return removed;
  }
  const hub::CacheFolder folder(options_.cache_dir, reference);
  const hub::Removal removal =
      hub::RemovalOf(folder, folder.Commit(), FilesHere(folder, reference));
  if (removal.names.empty() && removal.blobs.empty()) return NotHere(reference);
  if (mode == RemoveMode::kRemove) RETURN_IF_ERROR(hub::Carry(folder, removal));
  RemovedModel removed = {.paths = removal.names, .bytes = removal.bytes};
  removed.paths.insert(removed.paths.end(), removal.blobs.begin(), removal.blobs.end());
  return removed;
}

std::vector<DiskUse> Hub::Usage() const {
  std::vector<DiskUse> uses = hub::UseOfCache(options_.cache_dir);
  for (DiskUse& use : hub::UseOfFiles(options_.files_dir)) uses.push_back(std::move(use));
  std::stable_sort(uses.begin(), uses.end(), [](const DiskUse& a, const DiskUse& b) {
    return a.bytes + a.unfinished_bytes > b.bytes + b.unfinished_bytes;
  });
  return uses;
}

Result<RemoteModel> Hub::Find(const ModelReference& reference, const PullWatch& watch) const {
  CHECK(options_.connections >= 1 && options_.connections <= 16);
  ASSIGN_OR_RETURN(hub::Session session, hub::Session::Create(options_.ca_file));
  Result<RemoteModel> model = reference.url.empty()
                                  ? FindRepository(session, reference, options_, watch)
                                  : FindAddress(session, reference, options_, watch);
  if (model.ok() || model.status().code() == ErrorCode::kCancelled) return model;
  return std::move(model).status().WithContext(ToText(reference));
}

Result<std::string> Hub::Pull(const RemoteModel& model, const PullWatch& watch) const {
  CHECK(!model.files.empty());
  Result<std::string> path = model.reference.url.empty() ? PullRepository(model, options_, watch)
                                                         : PullAddress(model, options_, watch);
  if (path.ok() || path.status().code() == ErrorCode::kCancelled) return path;
  return std::move(path).status().WithContext(ToText(model.reference));
}

}  // namespace skald
