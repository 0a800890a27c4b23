/// AlignedBuffer: zeroed memory for weights, pages and activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/status.h"

namespace skald {

/// A transparent huge page: what the system gives at one touch of a large buffer.
inline constexpr int64_t kHugePageBytes = 2 << 20;

/// Owns `size()` bytes of anonymous memory, zero at creation, aligned to 2 MiB for large sizes and
/// 64 bytes for all, with transparent huge pages asked for where the kernel offers them (4 KiB
/// pages cost a memory-bound kernel 10 to 20 %). Move-only. The memory is committed on first touch,
/// so a thread that fills its own part also places it.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  /// Maps `bytes` bytes. Errors: kResourceExhausted with the size asked for, if the system refuses.
  static Result<AlignedBuffer> Create(uint64_t bytes);

  /// Touches some of the bytes, which stay as they are: the system gives their memory now. Nobody
  /// else may write them meanwhile. 0.1 to 0.2 ms for 2 MiB; where a virtual machine gets its own
  /// memory only now, 5 ms.
  void Commit(uint64_t first, uint64_t bytes);

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

  /// The buffer as an array of T. `T` must be trivial; the size is rounded down.
  template <typename T>
  std::span<T> As() {
    return {reinterpret_cast<T*>(data_), static_cast<size_t>(size_ / sizeof(T))};
  }
  template <typename T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(size_ / sizeof(T))};
  }

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  void* mapping_ = nullptr;  // what mmap returned; data_ is the first aligned byte in it
  uint64_t mapping_bytes_ = 0;
};

/// Bytes of main memory of the machine (not of the container, not what is free).
uint64_t MachineMemoryBytes();

}  // namespace skald
