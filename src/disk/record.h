/// Record: what stands in the files of the disk cache, byte by byte. Little-endian.
///
///     file     header of the segment (256 bytes), then records, all of the same length
///     record   header (320 bytes), then the page
///
/// Each header ends in a SHA-256 of what precedes it in the header, and that of a record holds one
/// of its page. So a torn write, a flipped bit and what is left of the segment that stood in the
/// file before are all found out, without any order between writes: nothing is ever synced, and
/// what a power cut loses is computed again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "disk/page_key.h"

namespace skald::disk {

struct SegmentHeader {
  std::array<char, 8> magic = {};
  uint32_t version = 0;
  uint32_t record_header_bytes = 0;
  uint64_t generation = 0;  ///< rises with each segment of a folder; 0: none
  uint64_t page_bytes = 0;
  PageKey identity = {};
  std::array<char, 128> label = {};  ///< for people: the name of the model, ended by zeros
  std::array<char, 32> unused = {};
  PageKey digest = {};
};
static_assert(sizeof(SegmentHeader) == 256);

struct RecordHeader {
  std::array<char, 8> magic = {};
  uint64_t generation = 0;  ///< of the segment
  uint64_t index = 0;       ///< of the record in it
  uint64_t page_bytes = 0;
  PageKey key = {};
  PageKey before = {};
  std::array<int32_t, kKeyTokens> tokens = {};
  PageKey page_digest = {};
  std::array<char, 32> unused = {};
  PageKey digest = {};
};
static_assert(sizeof(RecordHeader) == 320);

/// A page larger than this is a damaged header, not a page.
inline constexpr uint64_t kMostPageBytes = uint64_t{1} << 32;

inline uint64_t RecordBytes(uint64_t page_bytes) { return sizeof(RecordHeader) + page_bytes; }
inline uint64_t RecordStart(uint64_t page_bytes, uint64_t index) {
  return sizeof(SegmentHeader) + index * RecordBytes(page_bytes);
}

/// SHA-256 of a page.
PageKey PageDigest(std::span<const std::byte> page);

/// Fill in magic, version and digest.
void Seal(SegmentHeader* header);
void Seal(RecordHeader* header);

/// True if the header is whole, and of this version. Its numbers are bounded then, but whether the
/// file is so long is for the caller to see.
bool IsWhole(const SegmentHeader& header);
/// True if the header is whole and that of record `index` of the segment, and its key is that of
/// its tokens behind `before`.
bool IsWhole(const RecordHeader& header, const SegmentHeader& segment, uint64_t index);

/// The label up to its zeros, with a ? for whatever is not printable ASCII.
std::string LabelOf(const SegmentHeader& header);

}  // namespace skald::disk
