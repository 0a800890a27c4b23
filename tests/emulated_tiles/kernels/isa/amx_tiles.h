/// The tile registers of AMX as a program: what src/kernels/isa/amx_tiles.h declares, for CPUs that
/// have none. The matmuls over tiles are compiled a second time with this header in its place
/// (src/kernels/CMakeLists.txt), so that all they do around the tiles is tested on every CPU with
/// AVX-512. A product takes microseconds in place of 16 cycles.
///
/// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, TDPBSSD,
/// TDPBSUD, TDPBF16PS, TILELOADD.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "kernels/isa/flush_mode.h"
#include "kernels/isa/tile_config.h"

namespace skald::kernels::amx {

/// The tile unit. One for all: tests of matrices use one thread.
struct TileUnit {
  TileConfig config;
  bool in_session = false;
  std::array<std::array<std::array<std::byte, 64>, 16>, 8> tiles;
};
inline TileUnit tile_unit;

class TileSession {
 public:
  explicit TileSession(const TileConfig& config) {
    CHECK(!tile_unit.in_session && config.palette == 1);
    tile_unit = {.config = config, .in_session = true, .tiles = {}};
  }
  ~TileSession() { tile_unit.in_session = false; }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

// What is beyond the shape becomes zero.
template <int kTile>
inline void LoadTile(const void* from, int64_t stride) {
  CHECK(tile_unit.in_session);
  auto& tile = tile_unit.tiles[kTile];
  tile = {};
  for (int row = 0; row < tile_unit.config.rows[kTile]; ++row) {
    std::memcpy(tile[row].data(), static_cast<const std::byte*>(from) + row * stride,
                tile_unit.config.row_bytes[kTile]);
  }
}

template <int kTile>
inline void StoreTile(void* to, int64_t stride) {
  CHECK(tile_unit.in_session);
  for (int row = 0; row < tile_unit.config.rows[kTile]; ++row) {
    std::memcpy(static_cast<std::byte*>(to) + row * stride, tile_unit.tiles[kTile][row].data(),
                tile_unit.config.row_bytes[kTile]);
  }
}

template <int kTile>
inline void ZeroTile() {
  CHECK(tile_unit.in_session);
  tile_unit.tiles[kTile] = {};
}

// Calls add(sum, a, b) for each row of a and each column of b: the element of the sum, as Sum, the
// row of a, and the dwords of the column. The CPU faults where shapes do not meet.
template <typename Sum, int kSum, int kA, int kB, typename Add>
inline void ForEachSum(const Add& add) {
  const TileConfig& config = tile_unit.config;
  CHECK(tile_unit.in_session);
  CHECK(config.row_bytes[kA] == 4 * config.rows[kB] && config.rows[kA] == config.rows[kSum] &&
        config.row_bytes[kB] == config.row_bytes[kSum]);
  const int depth = config.rows[kB];
  for (int column = 0; column < config.row_bytes[kB] / 4; ++column) {
    std::array<std::byte, 64> dwords = {};
    for (int k = 0; k < depth; ++k) {
      std::memcpy(&dwords[4 * k], &tile_unit.tiles[kB][k][4 * column], 4);
    }
    for (int row = 0; row < config.rows[kA]; ++row) {
      std::byte* at = &tile_unit.tiles[kSum][row][4 * column];
      Sum sum;
      std::memcpy(&sum, at, sizeof(sum));
      sum = add(sum, tile_unit.tiles[kA][row].data(), dwords.data(), depth);
      std::memcpy(at, &sum, sizeof(sum));
    }
  }
}

template <typename B>
inline int32_t AddBytes(int32_t sum, const std::byte* a, const std::byte* b, int depth) {
  for (int i = 0; i < 4 * depth; ++i) sum += static_cast<int8_t>(a[i]) * static_cast<B>(b[i]);
  return sum;
}

template <int kSum, int kA, int kB>
inline void MultiplySigned() {
  ForEachSum<int32_t, kSum, kA, kB>(AddBytes<int8_t>);
}

template <int kSum, int kA, int kB>
inline void MultiplyUnsigned() {
  ForEachSum<int32_t, kSum, kA, kB>(AddBytes<uint8_t>);
}

// The chain of every second bfloat16, as floats in order.
inline float Chain(const std::byte* a, const std::byte* b, int depth, int first) {
  const auto number = [](const std::byte* at) {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof(bits));
    const uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  };
  float sum = 0;
  for (int k = 0; k < depth; ++k) {
    const int at = 4 * k + 2 * first;
    sum = std::fma(number(a + at), number(b + at), sum);
  }
  return sum;
}

inline float AddBFloat16(float sum, const std::byte* a, const std::byte* b, int depth) {
  return sum + (Chain(a, b, depth, 0) + Chain(a, b, depth, 1));
}

template <int kSum, int kA, int kB>
inline void MultiplyBFloat16() {
  const FlushMode flush;
  ForEachSum<float, kSum, kA, kB>(AddBFloat16);
}

}  // namespace skald::kernels::amx
