#include "disk/record.h"

#include <algorithm>

namespace skald::disk {
namespace {

constexpr std::array<char, 8> kSegmentMagic = {'s', 'k', 'a', 'l', 'd', 's', 'e', 'g'};
constexpr std::array<char, 8> kRecordMagic = {'s', 'k', 'a', 'l', 'd', 'p', 'a', 'g'};
constexpr uint32_t kVersion = 1;

// Of all that stands before the digest, which is last.
template <typename Header>
PageKey DigestOf(const Header& header) {
  static_assert(offsetof(Header, digest) + sizeof(header.digest) == sizeof(Header));
  return IdentityKey({reinterpret_cast<const char*>(&header), offsetof(Header, digest)});
}

}  // namespace

PageKey PageDigest(std::span<const std::byte> page) {
  return IdentityKey({reinterpret_cast<const char*>(page.data()), page.size()});
}

void Seal(SegmentHeader* header) {
  header->magic = kSegmentMagic;
  header->version = kVersion;
  header->record_header_bytes = sizeof(RecordHeader);
  header->digest = DigestOf(*header);
}

void Seal(RecordHeader* header) {
  header->magic = kRecordMagic;
  header->digest = DigestOf(*header);
}

bool IsWhole(const SegmentHeader& header) {
  return header.magic == kSegmentMagic && header.version == kVersion &&
         header.record_header_bytes == sizeof(RecordHeader) && header.generation > 0 &&
         header.page_bytes > 0 && header.page_bytes <= kMostPageBytes &&
         header.digest == DigestOf(header);
}

bool IsWhole(const RecordHeader& header, const SegmentHeader& segment, uint64_t index) {
  return header.magic == kRecordMagic && header.generation == segment.generation &&
         header.index == index && header.page_bytes == segment.page_bytes &&
         header.digest == DigestOf(header) && header.key == NextKey(header.before, header.tokens);
}

std::string LabelOf(const SegmentHeader& header) {
  std::string label(header.label.begin(), std::find(header.label.begin(), header.label.end(), 0));
  for (char& each : label) {
    if (each < ' ' || each > '~') each = '?';
  }
  return label;
}

}  // namespace skald::disk
