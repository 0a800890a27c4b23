/// Segment: one file of the disk cache, and which of its records are whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "disk/folder.h"
#include "disk/record.h"

namespace skald::disk {

/// Files of a folder. They are written one after the other, and then anew from the one that was
/// used least lately: so a sixteenth of the cache is given up at a time.
inline constexpr int kSegments = 16;

/// "segment-07"
std::string SegmentName(int index);

/// Move-only. One thread at a time.
class Segment {
 public:
  /// Reads the header. A file without a whole one is an empty segment of generation 0.
  explicit Segment(OpenFile file);

  const SegmentHeader& header() const { return header_; }
  /// Bytes of the file.
  uint64_t file_bytes() const { return file_.size(); }
  /// Records for which the file is long enough.
  uint64_t places() const;

  /// Forgets all records, and writes a new header. Errors: kIo; the segment is empty then.
  Status Begin(const SegmentHeader& header);

  /// True if record `index` has a whole header, which `*found` is then.
  bool ReadHeader(uint64_t index, RecordHeader* found) const;
  /// True if the page of a whole header is whole too, and stands in `page`, which is as long.
  bool ReadPage(const RecordHeader& header, std::span<std::byte> page) const;
  /// Writes a record, of which key, before, tokens and index are given. The header comes last, so
  /// that most torn records have none. Errors: kIo.
  Status Write(RecordHeader header, std::span<const std::byte> page) const;

  Status CutTo(uint64_t bytes) const { return file_.CutTo(bytes); }

 private:
  OpenFile file_;
  SegmentHeader header_;
};

}  // namespace skald::disk
