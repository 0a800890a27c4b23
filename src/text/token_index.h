/// TokenIndex: finds token ids by their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "text/bytes_hash.h"

namespace skald::text {

/// An open hash table over strings that live elsewhere: `bytes_of(id)` must give the bytes of every
/// id inserted, the same at each call.
class TokenIndex {
 public:
  /// A table for up to `count` entries under a hash key (bytes_hash.h). 8 bytes a slot, at most
  /// half of them full.
  TokenIndex(size_t count, uint64_t key) : key_(key) {
    size_t size = 2;
    while (size < 2 * count) size *= 2;
    slots_.resize(size);
  }

  /// Inserts `id` unless an entry with the same bytes exists; returns the id that is there now.
  template <typename BytesOf>
  TokenId InsertOrFind(TokenId id, const BytesOf& bytes_of) {
    const std::string_view bytes = bytes_of(id);
    const uint64_t hash = Hash(bytes);
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.id == kNoToken) {
        slot = {Tag(hash), id};
        return id;
      }
      if (slot.tag == Tag(hash) && bytes_of(slot.id) == bytes) return slot.id;
    }
  }

  uint64_t Hash(std::string_view bytes) const { return HashBytes(bytes, key_); }

  /// The id with these bytes, or kNoToken. `hash` is Hash(bytes).
  template <typename BytesOf>
  TokenId Find(uint64_t hash, std::string_view bytes, const BytesOf& bytes_of) const {
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.id == kNoToken) return kNoToken;
      if (slot.tag == Tag(hash) && bytes_of(slot.id) == bytes) return slot.id;
    }
  }

  /// Tells the processor that Find(hash, ...) comes soon. With a batch of these before a batch of
  /// finds, the waits for memory overlap.
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }
  /// The id that Find(hash, ...) will look at first, or kNoToken: to prefetch its bytes.
  TokenId FirstCandidate(uint64_t hash) const { return slots_[hash & (slots_.size() - 1)].id; }

 private:
  struct Slot {
    uint32_t tag = 0;  // upper half of the hash: spares most comparisons of bytes
    TokenId id = kNoToken;
  };
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  std::vector<Slot> slots_;  // a power of two
  uint64_t key_;
};

}  // namespace skald::text
