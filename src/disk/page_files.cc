#include "disk/page_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace skald::disk {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;
constexpr size_t kSecretBytes = 32;

// Of another kind, a record is neither read nor counted.
bool IsOf(const SegmentHeader& header, const PageKind& kind) {
  return header.generation > 0 && header.identity == kind.identity &&
         header.page_bytes == static_cast<uint64_t>(kind.page_bytes);
}

}  // namespace

Result<std::unique_ptr<PageFiles>> PageFiles::Open(const std::string& path, int64_t bytes) {
  if (bytes < kLeastBytes) {
    return Status(ErrorCode::kInvalidArgument, path + ": a cache of " + std::to_string(bytes) +
                                                   " bytes, expected 1 MiB at least");
  }
  ASSIGN_OR_RETURN(Folder folder, Folder::Open(path, Access::kOwn));
  auto files = std::unique_ptr<PageFiles>(new PageFiles(std::move(folder), bytes));
  for (int i = 0; i < kSegments; ++i) {
    ASSIGN_OR_RETURN(OpenFile file, files->folder_.OpenIn(SegmentName(i)));
    Segment segment(std::move(file));
    const auto most = static_cast<uint64_t>(bytes / kSegments);
    if (segment.file_bytes() > most) RETURN_IF_ERROR(segment.CutTo(most));
    files->generation_ = std::max(files->generation_, segment.header().generation);
    const auto size = static_cast<int64_t>(segment.file_bytes());
    files->files_.push_back({.segment = std::move(segment), .records = {}, .bytes = size});
  }
  files->stats_.bytes_limit = bytes;
  return files;
}

Status PageFiles::Serve(const PageKind& kind) {
  CHECK(kind.page_bytes > 0);
  if (kind_.page_bytes > 0) {
    return Status(ErrorCode::kInvalidArgument,
                  folder_.path() + ": serves an engine already; a folder is for one");
  }
  const auto page_bytes = static_cast<uint64_t>(kind.page_bytes);
  const auto most = static_cast<uint64_t>(bytes_ / kSegments);
  if (page_bytes > kMostPageBytes || RecordStart(page_bytes, 1) > most) {
    return Status(ErrorCode::kInvalidArgument,
                  folder_.path() + ": a page of " + std::to_string(page_bytes) +
                      " bytes does not fit a sixteenth of the cache, which is " +
                      std::to_string(most));
  }
  kind_ = kind;
  places_ = (most - sizeof(SegmentHeader)) / RecordBytes(page_bytes);
  const std::lock_guard lock(mutex_);
  // From the oldest to the newest, as the clock goes on from there.
  std::array<int32_t, kSegments> order{};
  for (int32_t i = 0; i < kSegments; ++i) order[static_cast<size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return files_[static_cast<size_t>(a)].segment.header().generation <
           files_[static_cast<size_t>(b)].segment.header().generation;
  });
  for (const int32_t index : order) Scan(index);
  return Ok();
}

// Behind the last whole record it is written on, if it is of this kind: so that many starts do not
// leave as many segments that are nearly empty.
void PageFiles::Scan(int32_t index) {
  File& file = files_[static_cast<size_t>(index)];
  const SegmentHeader& header = file.segment.header();
  file.used = header.generation > 0 ? ++clock_ : 0;
  if (!IsOf(header, kind_)) return;
  current_ = index;
  const uint64_t places = std::min(file.segment.places(), places_);
  for (uint64_t i = 0; i < places; ++i) {
    RecordHeader record;
    // What is not whole is skipped: all records are of one length.
    if (!file.segment.ReadHeader(i, &record)) continue;
    file.records.resize(i);
    Enter(index, {.key = record.key, .before = record.before, .tokens = record.tokens});
  }
}

// The next record of a file is whole.
void PageFiles::Enter(int32_t file, const PageName& name) {
  std::vector<std::optional<Kept>>& records = files_[static_cast<size_t>(file)].records;
  index_[name.key] = {.file = file, .index = records.size()};
  Kept kept = {.key = name.key, .tail_of = std::nullopt};
  if (IsTail(name.tokens)) {
    kept.tail_of = name.before;
    tails_.insert(name.before);
  }
  records.emplace_back(kept);
}

void PageFiles::Leave(const Kept& kept) {
  if (!kept.tail_of) return;
  const auto found = tails_.find(*kept.tail_of);
  CHECK(found != tails_.end());
  tails_.erase(found);
}

Result<std::string> PageFiles::KeepSecret(const std::string& fresh) {
  CHECK(fresh.size() == kSecretBytes);
  ASSIGN_OR_RETURN(const OpenFile file, folder_.OpenIn("secret"));
  std::string kept(kSecretBytes, '\0');
  if (file.size() == kSecretBytes) {
    RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(kept))));
    return kept;
  }
  RETURN_IF_ERROR(file.CutTo(0));
  RETURN_IF_ERROR(file.WriteAt(0, std::as_bytes(std::span(fresh))));
  return fresh;
}

std::optional<PageFiles::Place> PageFiles::PlaceOf(const PageKey& key) const {
  const auto found = index_.find(key);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

bool PageFiles::Has(const PageKey& key) const {
  const std::lock_guard lock(mutex_);
  return index_.contains(key);
}

bool PageFiles::HasTailBehind(const PageKey& key) const {
  const std::lock_guard lock(mutex_);
  return tails_.contains(key);
}

bool PageFiles::writes() const {
  const std::lock_guard lock(mutex_);
  return stats_.stopped.empty();
}

void PageFiles::Put(const PageName& name, std::span<const std::byte> page) {
  CHECK(page.size() == static_cast<size_t>(kind_.page_bytes));
  CHECK(name.tokens.size() == static_cast<size_t>(kKeyTokens));
  {
    const std::lock_guard lock(mutex_);
    if (index_.contains(name.key) || !stats_.stopped.empty()) return;
  }
  if (!MakeRoom()) return;
  File& file = files_[static_cast<size_t>(current_)];
  RecordHeader header;
  header.index = file.records.size();
  header.key = name.key;
  header.before = name.before;
  std::copy(name.tokens.begin(), name.tokens.end(), header.tokens.begin());
  const Status written = file.segment.Write(header, page);
  if (!written.ok()) return Stop(written);
  const std::lock_guard lock(mutex_);
  Enter(current_, name);
  const uint64_t end = RecordStart(static_cast<uint64_t>(kind_.page_bytes), file.records.size());
  file.bytes = std::max(file.bytes, static_cast<int64_t>(end));
  file.used = ++clock_;
  ++stats_.pages_written;
}

// The file that is written, or the next one, has a place.
bool PageFiles::MakeRoom() {
  if (current_ >= 0 && files_[static_cast<size_t>(current_)].records.size() < places_) return true;
  const int32_t next = LeastUsed();
  Forget(next);
  SegmentHeader header;
  header.generation = ++generation_;
  header.page_bytes = static_cast<uint64_t>(kind_.page_bytes);
  header.identity = kind_.identity;
  const size_t length = std::min(kind_.label.size(), header.label.size() - 1);
  std::copy_n(kind_.label.begin(), length, header.label.begin());
  const Status begun = files_[static_cast<size_t>(next)].segment.Begin(header);
  if (!begun.ok()) {
    Stop(begun);
    return false;
  }
  current_ = next;
  return true;
}

int32_t PageFiles::LeastUsed() const {
  const std::lock_guard lock(mutex_);
  const auto least = std::min_element(files_.begin(), files_.end(),
                                      [](const File& a, const File& b) { return a.used < b.used; });
  return static_cast<int32_t>(least - files_.begin());
}

void PageFiles::Forget(int32_t index) {
  const std::lock_guard lock(mutex_);
  File& file = files_[static_cast<size_t>(index)];
  stats_.segments_reused += int64_t{file.used > 0};
  for (const std::optional<Kept>& kept : file.records) {
    if (!kept) continue;
    Leave(*kept);
    const auto found = index_.find(kept->key);
    // A page may have been written anew since, elsewhere.
    if (found != index_.end() && found->second.file == index) index_.erase(found);
  }
  file.records.clear();
  file.bytes = 0;
}

bool PageFiles::Read(const PageName& name, std::span<std::byte> page) {
  std::optional<Place> place;
  {
    const std::lock_guard lock(mutex_);
    place = PlaceOf(name.key);
    if (!place) return false;
  }
  File& file = files_[static_cast<size_t>(place->file)];
  RecordHeader header;
  // Tokens are compared, too: a key alone is a hash of them.
  const bool found = file.segment.ReadHeader(place->index, &header) && header.key == name.key &&
                     header.before == name.before &&
                     std::equal(name.tokens.begin(), name.tokens.end(), header.tokens.begin(),
                                header.tokens.end()) &&
                     file.segment.ReadPage(header, page);
  if (!found) {
    Drop(name.key);
    return false;
  }
  const std::lock_guard lock(mutex_);
  file.used = ++clock_;
  ++stats_.pages_read;
  return true;
}

// So that it is asked for no more, and may be written anew.
void PageFiles::Drop(const PageKey& key) {
  const std::lock_guard lock(mutex_);
  const std::optional<Place> place = PlaceOf(key);
  if (!place) return;
  std::optional<Kept>& kept = files_[static_cast<size_t>(place->file)].records[place->index];
  Leave(*kept);
  kept.reset();
  index_.erase(key);
  ++stats_.pages_dropped;
}

void PageFiles::Stop(const Status& status) {
  const std::lock_guard lock(mutex_);
  stats_.stopped = folder_.path() + ": " + status.message();
}

PageFilesStats PageFiles::Stats() const {
  const std::lock_guard lock(mutex_);
  PageFilesStats stats = stats_;
  stats.pages = static_cast<int64_t>(index_.size());
  for (const File& file : files_) stats.bytes += file.bytes;
  return stats;
}

}  // namespace skald::disk
