/// Hub: models by name from Hugging Face, or from an address, to files on this machine.
///
///     Result<ModelReference> reference = ParseModelReference("hf://owner/name:Q4_K_M");
///     const Hub hub(options);
///     Result<std::string> path = hub.Cached(*reference);               // no network
///     Result<RemoteModel> model = hub.Find(*reference, watch);         // its files and sizes
///     if (model.ok()) std::cout << *hub.Pull(*model, watch) << "\n";   // fetches what lacks
///
/// What lies on the disk has the layout of Hugging Face's own cache, which other programs share:
///
///   models--OWNER--NAME/refs/REVISION
///   models--OWNER--NAME/blobs/SHA256
///   models--OWNER--NAME/snapshots/COMMIT/PATH, a link to the blob
///
/// A file gets its name there only after every byte of it has come and its SHA-256 is the one that
/// the hub gave. Until then it is a partial file, with which the next call goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// Which model is meant.
struct ModelReference {
  std::string url = {};       ///< an address; then all others are empty
  std::string owner = {};     ///< "Qwen"
  std::string name = {};      ///< "Qwen3-0.6B-GGUF"
  std::string revision = {};  ///< branch, tag or commit
  std::string choice = {};    ///< "Q4_K_M", or a file of the repository; empty: the usual one
};

/// Reads "hf://owner/name[@revision][:choice]", "hf.co/owner/name..." and
/// "huggingface.co/owner/name..." with or without "https://", "owner/name..." and
/// "https://host/path/file.gguf". Errors: kInvalidArgument with the forms there are.
Result<ModelReference> ParseModelReference(std::string_view text);

/// The reference as ParseModelReference reads it.
std::string ToText(const ModelReference& reference);

/// One file to fetch.
struct RemoteFile {
  std::string path = {};    ///< in the repository; of an address, the name behind its last slash
  std::string url = {};     ///< where it is
  std::string sha256 = {};  ///< 64 digits; empty: nobody has said
  std::string blob = {};    ///< name of its bytes in the cache; empty: not for the cache
  int64_t bytes = 0;
};

/// A model that can be pulled.
struct RemoteModel {
  ModelReference reference = {};
  std::string commit = {};             ///< empty for an address
  std::vector<RemoteFile> files = {};  ///< the parts of a split model, in order; at least one
  int64_t bytes = 0;                   ///< of all files
};

/// What a removal takes away.
struct RemovedModel {
  std::vector<std::string> paths = {};
  int64_t bytes = 0;  ///< that the disk has free then
};
enum class RemoveMode : uint8_t { kLook, kRemove };

/// What lies on the disk of one repository, or of one file from an address.
struct DiskUse {
  std::string name = {};         ///< "hf://owner/name", or the name of the file
  std::string path = {};         ///< the folder of the repository, or the file
  int64_t bytes = 0;             ///< of whole files, each counted once whoever names it
  int64_t unfinished_bytes = 0;  ///< of files that are not whole: a pull goes on with them
};

struct HubOptions {
  std::string cache_dir;  ///< Hugging Face's; made when it is needed
  std::string files_dir;  ///< for models from addresses
  std::string endpoint = "https://huggingface.co";
  std::string token = {};        ///< sent to the endpoint only
  std::string ca_file = {};      ///< PEM of the authorities that are trusted; empty: the system's
  int connections = 4;           ///< ranges of a file fetched at once; 1 .. 16
  double patience_seconds = 30;  ///< a connection without a byte for so long is given up
};

/// What a caller sees of a long call, and how it ends it. Both are called from the calling thread,
/// at least ten times a second.
struct PullWatch {
  enum class Stage : uint8_t { kWait, kFetch, kCheck };
  struct Progress {
    Stage stage = Stage::kFetch;
    std::string_view file;   ///< at which the call is
    int64_t done_bytes = 0;  ///< of all files; what lay there already is done
    int64_t total_bytes = 0;
  };
  std::function<void(const Progress& progress)> progress = {};
  std::function<bool()> stop = {};
};

/// See above. One call at a time; several processes may pull the same model, the second waits.
class Hub {
 public:
  /// Requires connections and patience in their ranges.
  explicit Hub(HubOptions options) : options_(std::move(options)) {}

  /// The first file of the model if all its files are here. Errors: kNotFound.
  Result<std::string> Cached(const ModelReference& reference) const;

  /// Asks the hub for the files of the model. Errors: kNotFound with what there is; kUnavailable if
  /// the hub cannot be reached; kUnsupported if a repository has no GGUF file; kCancelled.
  Result<RemoteModel> Find(const ModelReference& reference, const PullWatch& watch) const;

  /// Fetches what lacks and returns the path of the first file. Errors: kResourceExhausted if the
  /// disk has no room, before anything is fetched; kIo for the disk, and for bytes that are not
  /// those that were promised; kUnavailable if the other side goes away for good; kCancelled. What
  /// has come stays, but for bytes of the wrong hash.
  Result<std::string> Pull(const RemoteModel& model, const PullWatch& watch) const;

  /// Removes the files of the model that are here, and what has come of unfinished files of its
  /// repository; or only says what would go. Bytes that another revision or model names, too, stay.
  /// Errors: kNotFound; kUnavailable while another process fetches one of them; kIo.
  Result<RemovedModel> Remove(const ModelReference& reference, RemoveMode mode) const;

  /// What all that was pulled takes on the disk, the largest first: the blocks that files have, not
  /// their lengths. Other programs' models in the same cache are among them. What cannot be read is
  /// left out; nothing is locked, so a pull may be at work.
  std::vector<DiskUse> Usage() const;

 private:
  HubOptions options_;
};

}  // namespace skald
