/// A fast keyed hash of short byte strings and pairs of ids, for the tables of a vocabulary.
///
/// The key of a table is itself a hash of the whole vocabulary, so changing one token to make two
/// others collide changes where everything falls: a file cannot aim at slow tables, and no random
/// numbers are needed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace skald::text {

__extension__ typedef unsigned __int128 Uint128;

/// Multiplies to 128 bits and folds the halves, so that every bit of the result depends on every
/// bit of both factors. Source: the mixing step of wyhash.
inline uint64_t MixBits(uint64_t a, uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Odd constants with as many ones as zeros: the digits of pi and of e.
inline constexpr uint64_t kMixA = 0x243F6A8885A308D3;
inline constexpr uint64_t kMixB = 0xB7E151628AED2A6B;

/// Hash of `bytes` under `key`.
inline uint64_t HashBytes(std::string_view bytes, uint64_t key) {
  uint64_t hash = key ^ MixBits(bytes.size() ^ kMixA, kMixB);
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left > 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    hash = MixBits(hash ^ word, kMixA);
  }
  uint64_t word = 0;
  if (left > 0) std::memcpy(&word, at, left);  // an empty view may hold a null pointer
  return MixBits(hash ^ word, kMixB ^ key);
}

/// Hash of two ids under `key`.
inline uint64_t HashPair(int32_t left, int32_t right, uint64_t key) {
  const uint64_t pair =
      static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  return MixBits(pair ^ key, kMixA);
}

}  // namespace skald::text
