// Counts allocations by the hooks of the sanitizers, which stand in for malloc themselves.

#include <sanitizer/allocator_interface.h>

#include "support/cost.h"

namespace {

void OnAllocate(const volatile void* memory, size_t bytes) {
  if (memory != nullptr) skald::test::CountAllocation(bytes);
}
void OnFree(const volatile void* memory) {
  void* const allocation = const_cast<void*>(memory);
  if (allocation != nullptr && __sanitizer_get_ownership(allocation) != 0)
    skald::test::CountFree(__sanitizer_get_allocated_size(allocation));
}

// What was allocated before this ran is never asked for: only differences are.
[[maybe_unused]] const int kHooked = __sanitizer_install_malloc_and_free_hooks(OnAllocate, OnFree);

}  // namespace
