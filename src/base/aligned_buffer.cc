#include "base/aligned_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"

namespace skald {
namespace {

constexpr uint64_t kSmallPageBytes = 4096;

}  // namespace

Result<AlignedBuffer> AlignedBuffer::Create(uint64_t bytes) {
  const bool huge = bytes >= kHugePageBytes;
  const uint64_t alignment = huge ? uint64_t{kHugePageBytes} : kSmallPageBytes;
  // One alignment of slack lets us choose an aligned start inside what mmap returns.
  const auto mapping_bytes =
      CheckedU64(bytes).RoundUp(kSmallPageBytes).Add(huge ? alignment : 0).value();
  const std::string refused = "cannot reserve " + std::to_string(bytes) + " bytes of memory";
  if (!mapping_bytes) return Status(ErrorCode::kResourceExhausted, refused);
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  void* mapping = mmap(nullptr, *mapping_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return Status(ErrorCode::kResourceExhausted, refused);
  const uint64_t start = reinterpret_cast<uintptr_t>(mapping);
  buffer.mapping_ = mapping;
  buffer.mapping_bytes_ = *mapping_bytes;
  buffer.data_ = reinterpret_cast<std::byte*>(RoundUp(start, alignment));
  buffer.size_ = bytes;
  // Advice only: a kernel without huge pages still gives correct memory.
  if (huge) static_cast<void>(madvise(buffer.data_, bytes, MADV_HUGEPAGE));
  return buffer;
}

void AlignedBuffer::Commit(uint64_t first, uint64_t bytes) {
  CHECK(first <= size_ && bytes <= size_ - first);
  // A write: what is only read is a page of zeros that all share.
  const auto touch = [this](uint64_t at) {
    volatile std::byte* byte = data_ + at;
    *byte = *byte;
  };
  for (uint64_t at = first; at < first + bytes; at += kSmallPageBytes) touch(at);
  // Where `first` is no beginning of a page, the steps may end before the last one.
  if (bytes > 0) touch(first + bytes - 1);
}

AlignedBuffer::~AlignedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

uint64_t MachineMemoryBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace skald
