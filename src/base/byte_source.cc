#include "base/byte_source.h"

#include <algorithm>

namespace skald {

Status MemorySource::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  const uint64_t available = offset <= bytes_.size() ? bytes_.size() - offset : 0;
  if (out.size() > available) {
    return Status(ErrorCode::kIo, "expected " + std::to_string(out.size()) + " bytes at offset " +
                                      std::to_string(offset) + ", got " +
                                      std::to_string(available));
  }
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  return Ok();
}

}  // namespace skald
