/// MetadataBuilder: how a parser makes a Metadata. For the parsers of this room only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "formats/metadata.h"
#include "skald/status.h"

namespace skald::formats {

/// Collects keys whose bytes the parser has proven, then indexes them.
class MetadataBuilder {
 public:
  /// A run of bytes by offset from the start of the header.
  struct Range {
    uint32_t offset;
    uint32_t byte_count;
  };
  struct Value {
    ValueType type;
    ValueType element_type;  ///< of an array; equal to `type` otherwise
    Range range;
    uint32_t count;  ///< elements of an array, else 1
  };

  /// Reserves room for `count` keys; the caller has bounded `count` by the bytes of the file.
  void Reserve(size_t count) { metadata_.records_.reserve(count); }

  /// Adds a key of 1 to 65,535 bytes. Both ranges lie inside the bytes given to Finish, and the
  /// value's bytes are well formed for its type.
  void Add(Range key, const Value& value);

  /// The finished map over `bytes`. Errors: kBadModel if a key stands twice. O(n log n).
  Result<Metadata> Finish(std::shared_ptr<const std::byte[]> bytes) &&;

 private:
  Metadata metadata_;
};

}  // namespace skald::formats
