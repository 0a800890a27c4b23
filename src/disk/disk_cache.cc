#include "skald/disk_cache.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "disk/page_files.h"

namespace skald {
namespace {

// Writes into `*found` what the records of a segment are.
void CountRecords(const disk::Segment& segment, DiskCacheCheck check, DiskCacheSegment* found) {
  // Only where a record is whole is its page as long as the header of the segment says.
  std::vector<std::byte> page;
  for (uint64_t i = 0; i < segment.places(); ++i) {
    disk::RecordHeader record;
    bool whole = segment.ReadHeader(i, &record);
    if (whole && check == DiskCacheCheck::kPages) {
      page.resize(segment.header().page_bytes);
      whole = segment.ReadPage(record, page);
    }
    ++(whole ? found->pages : found->damaged);
  }
}

}  // namespace

DiskCache::DiskCache(std::unique_ptr<disk::PageFiles> files) : files_(std::move(files)) {}
DiskCache::~DiskCache() = default;

Result<std::shared_ptr<DiskCache>> DiskCache::Open(const std::string& folder, int64_t bytes) {
  ASSIGN_OR_RETURN(auto files, disk::PageFiles::Open(folder, bytes));
  return std::shared_ptr<DiskCache>(new DiskCache(std::move(files)));
}

Result<std::string> DiskCache::KeepSecret(const std::string& fresh) {
  return files_->KeepSecret(fresh);
}

Result<std::vector<DiskCacheSegment>> ListDiskCache(const std::string& path, DiskCacheCheck check) {
  // First to look, which makes nothing: a folder that is not there is an error here.
  ASSIGN_OR_RETURN(disk::Folder folder, disk::Folder::Open(path, disk::Access::kLook));
  if (check == DiskCacheCheck::kPages) {
    // Who writes meanwhile would look like damage.
    ASSIGN_OR_RETURN(folder, disk::Folder::Open(path, disk::Access::kOwn));
  }
  std::vector<DiskCacheSegment> segments;
  for (int i = 0; i < disk::kSegments; ++i) {
    auto file = folder.OpenIn(disk::SegmentName(i));
    if (!file.ok() && file.status().code() == ErrorCode::kNotFound) continue;
    if (!file.ok()) return std::move(file).status();
    const disk::Segment segment(*std::move(file));
    if (segment.file_bytes() == 0) continue;
    const disk::SegmentHeader& header = segment.header();
    DiskCacheSegment found = {.file = disk::SegmentName(i),
                              .label = disk::LabelOf(header),
                              .generation = static_cast<int64_t>(header.generation),
                              .page_bytes = static_cast<int64_t>(header.page_bytes),
                              .bytes = static_cast<int64_t>(segment.file_bytes())};
    CountRecords(segment, check, &found);
    segments.push_back(std::move(found));
  }
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return a.generation < b.generation; });
  return segments;
}

Status ClearDiskCache(const std::string& path) {
  RETURN_IF_ERROR(disk::Folder::Open(path, disk::Access::kLook).status());
  ASSIGN_OR_RETURN(const disk::Folder folder, disk::Folder::Open(path, disk::Access::kOwn));
  for (int i = 0; i < disk::kSegments; ++i) {
    ASSIGN_OR_RETURN(const disk::OpenFile file, folder.OpenIn(disk::SegmentName(i)));
    RETURN_IF_ERROR(file.CutTo(0));
  }
  return Ok();
}

}  // namespace skald
