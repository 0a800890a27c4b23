#include "disk/segment.h"

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace skald::disk {
namespace {

template <typename Header>
std::span<std::byte> BytesOf(Header* header) {
  return std::as_writable_bytes(std::span(header, 1));
}
template <typename Header>
std::span<const std::byte> BytesOf(const Header& header) {
  return std::as_bytes(std::span(&header, 1));
}

}  // namespace

std::string SegmentName(int index) {
  return std::string("segment-") + (index < 10 ? "0" : "") + std::to_string(index);
}

Segment::Segment(OpenFile file) : file_(std::move(file)) {
  if (!file_.ReadAt(0, BytesOf(&header_)).ok() || !IsWhole(header_)) header_ = {};
}

uint64_t Segment::places() const {
  const uint64_t bytes = file_.size();
  if (header_.generation == 0 || bytes <= sizeof(SegmentHeader)) return 0;
  return (bytes - sizeof(SegmentHeader)) / RecordBytes(header_.page_bytes);
}

Status Segment::Begin(const SegmentHeader& header) {
  header_ = {};
  SegmentHeader sealed = header;
  Seal(&sealed);
  // Gives the bytes back to the system first: a disk that is full may have room for the new ones.
  RETURN_IF_ERROR(file_.CutTo(0));
  RETURN_IF_ERROR(file_.WriteAt(0, BytesOf(sealed)));
  header_ = sealed;
  return Ok();
}

bool Segment::ReadHeader(uint64_t index, RecordHeader* found) const {
  if (index >= places()) return false;
  return file_.ReadAt(RecordStart(header_.page_bytes, index), BytesOf(found)).ok() &&
         IsWhole(*found, header_, index);
}

bool Segment::ReadPage(const RecordHeader& header, std::span<std::byte> page) const {
  CHECK(page.size() == header_.page_bytes);
  const uint64_t start = RecordStart(header_.page_bytes, header.index) + sizeof(RecordHeader);
  return file_.ReadAt(start, page).ok() && PageDigest(page) == header.page_digest;
}

Status Segment::Write(RecordHeader header, std::span<const std::byte> page) const {
  CHECK(page.size() == header_.page_bytes);
  header.generation = header_.generation;
  header.page_bytes = header_.page_bytes;
  header.page_digest = PageDigest(page);
  Seal(&header);
  const uint64_t start = RecordStart(header_.page_bytes, header.index);
  RETURN_IF_ERROR(file_.WriteAt(start + sizeof(RecordHeader), page));
  return file_.WriteAt(start, BytesOf(std::as_const(header)));
}

}  // namespace skald::disk
