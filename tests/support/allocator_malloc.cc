// Counts allocations by standing in for malloc and its relatives: for builds without sanitizers.

#include <malloc.h>

#include <cerrno>
#include <cstddef>

#include "support/cost.h"

namespace {

void* Counted(void* memory) {
  if (memory != nullptr) skald::test::CountAllocation(malloc_usable_size(memory));
  return memory;
}

}  // namespace

// The C library's own names of its allocator, for those who stand in for it (glibc manual,
// "Replacing malloc"); all aligned allocation ends in memalign.
extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);

void* malloc(size_t bytes) { return Counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return Counted(__libc_calloc(count, bytes)); }
void* memalign(size_t alignment, size_t bytes) {
  return Counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) skald::test::CountFree(malloc_usable_size(memory));
  __libc_free(memory);
}
void* realloc(void* memory, size_t bytes) {
  const size_t before = memory == nullptr ? 0 : malloc_usable_size(memory);
  void* const moved = __libc_realloc(memory, bytes);
  if (moved != nullptr || bytes == 0) skald::test::CountFree(before);
  return Counted(moved);
}

}  // extern "C"
