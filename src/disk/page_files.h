/// PageFiles: pages that have left memory, in files, found again by their keys.
///
/// What it gives is what was put, or nothing: a record that is short, altered, of another key or of
/// another place is dropped when it is found out, and counted. It is a cache: whatever fails, fails
/// as a miss. When the disk is full, or broken, nothing more is written, and what stands there is
/// still read.
///
/// There are kSegments files, each a sixteenth of the bytes allowed, written one after the other.
/// When the last is full, the one that was used least lately begins anew. So the files are never
/// larger than allowed, and a page is lost with its neighbours, which were evicted with it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "disk/folder.h"
#include "disk/page_key.h"
#include "disk/segment.h"
#include "skald/status.h"

namespace skald::disk {

/// What the pages of an engine have in common.
struct PageKind {
  PageKey identity = {};
  std::string label;       ///< for people who look at the folder
  int64_t page_bytes = 0;  ///< 1 to kMostPageBytes
};

/// A page, as it is written or asked for.
struct PageName {
  PageKey key = {};
  PageKey before = {};
  std::span<const TokenId> tokens;  ///< kKeyTokens
};

/// Since the files were opened, unless it says "now".
struct PageFilesStats {
  int64_t pages = 0;        ///< of this kind that can be found, now
  int64_t bytes = 0;        ///< of all files, now
  int64_t bytes_limit = 0;  ///< as given to Open
  int64_t pages_written = 0;
  int64_t pages_read = 0;
  int64_t pages_dropped = 0;  ///< found altered or short when they were asked for
  int64_t segments_reused = 0;
  std::string stopped;  ///< why nothing is written any more; empty: it is
};

/// Has, writes and Stats: any thread. Serve first, once; Put and Read: one thread at a time.
class PageFiles {
 public:
  /// Opens all files, those of the folder kept for nobody else meanwhile. Those that are longer
  /// than `bytes` allows are cut. Errors: as Folder::Open with kOwn; kInvalidArgument for less than
  /// a MiB.
  static Result<std::unique_ptr<PageFiles>> Open(const std::string& folder, int64_t bytes);

  /// Reads which pages of this kind there are: the header of each record. Pages of other kinds stay
  /// until their place is needed. Errors: kInvalidArgument if no page fits a sixteenth of the
  /// bytes, or where this was called before.
  Status Serve(const PageKind& kind);

  /// 32 bytes that stay the same for the folder: `fresh`, where it has none yet. Errors: kIo.
  Result<std::string> KeepSecret(const std::string& fresh);

  bool Has(const PageKey& key) const;
  /// True if there is a record of a tail (IsTail) behind the page of this key.
  bool HasTailBehind(const PageKey& key) const;
  /// False once writing has ended: what is put is lost.
  bool writes() const;
  /// Writes a page, if it is not there. What fails is seen in Stats.
  void Put(const PageName& name, std::span<const std::byte> page);
  /// True if the page was there: `page` holds it then, and anything otherwise.
  bool Read(const PageName& name, std::span<std::byte> page);

  PageFilesStats Stats() const;
  const PageKind& kind() const { return kind_; }

 private:
  struct Kept {
    PageKey key = {};
    std::optional<PageKey> tail_of;  // of a tail: the key before
  };
  struct File {
    Segment segment;
    std::vector<std::optional<Kept>> records;  // none: not whole, or dropped
    int64_t used = 0;                          // clock_ when a record was last written or read
    int64_t bytes = 0;                         // of the file
  };
  struct Place {
    int32_t file = 0;
    uint64_t index = 0;
  };

  PageFiles(Folder folder, int64_t bytes) : folder_(std::move(folder)), bytes_(bytes) {}
  void Scan(int32_t index);
  bool MakeRoom();
  int32_t LeastUsed() const;
  void Enter(int32_t file, const PageName& name);
  void Leave(const Kept& kept);
  void Forget(int32_t index);
  void Drop(const PageKey& key);
  void Stop(const Status& status);
  std::optional<Place> PlaceOf(const PageKey& key) const;

  Folder folder_;
  const int64_t bytes_;
  PageKind kind_;
  std::vector<File> files_;  // its segments are of the one thread; its lists under the mutex
  int32_t current_ = -1;     // the file that is written
  uint64_t generation_ = 0;  // the highest there is
  uint64_t places_ = 0;      // records of a file, at most

  mutable std::mutex mutex_;  // for what follows, and the lists of files
  std::unordered_map<PageKey, Place, PageKeyHash> index_;
  std::unordered_multiset<PageKey, PageKeyHash> tails_;  // keys before those of tails
  int64_t clock_ = 0;
  PageFilesStats stats_;
};

}  // namespace skald::disk
