#include "formats/header_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/status_macros.h"

namespace skald::formats {
namespace {

// Large enough that the cost of a call vanishes, small enough that a file of a few keys costs one.
constexpr uint64_t kBlockBytes = 256 << 10;

}  // namespace

Result<HeaderReader> HeaderReader::Create(const ByteSource& source, uint64_t header_bytes_max) {
  const uint64_t capacity = std::min(source.size(), header_bytes_max);
  // malloc, not a vector: the memory must not be touched before it is needed. Only [0, filled_) is
  // ever handed out.
  auto* block = static_cast<std::byte*>(std::malloc(std::max<uint64_t>(capacity, 1)));
  if (block == nullptr) {
    return Status(ErrorCode::kResourceExhausted,
                  fmt::format("cannot reserve {} bytes for the header", capacity));
  }
  return HeaderReader(source, std::shared_ptr<std::byte[]>(block, std::free), capacity);
}

Status HeaderReader::Fill(uint64_t end) {
  const uint64_t fill_end = std::min(capacity_, std::max(end, filled_ + kBlockBytes));
  RETURN_IF_ERROR(source_->ReadAt(filled_, {bytes_.get() + filled_, fill_end - filled_}));
  filled_ = fill_end;
  return Ok();
}

Result<std::span<const std::byte>> HeaderReader::Take(uint64_t count, std::string_view what) {
  if (count > remaining()) {
    return Status(ErrorCode::kBadModel,
                  fmt::format("ends inside {}: {} bytes needed at offset {}, {} left", what, count,
                              offset_, remaining()));
  }
  if (count > capacity_ - offset_) {
    return Status(ErrorCode::kBadModel,
                  fmt::format("the header does not end within {} bytes (reading {} at offset {})",
                              capacity_, what, offset_));
  }
  const uint64_t end = offset_ + count;
  if (end > filled_) RETURN_IF_ERROR(Fill(end));
  const std::span<const std::byte> taken(bytes_.get() + offset_, static_cast<size_t>(count));
  offset_ = end;
  return taken;
}

}  // namespace skald::formats
