#include "base/heap.h"

#include <malloc.h>

#include "base/sanitizers.h"

namespace skald {

void ReturnFreeMemory() {
  // A sanitizer puts its own allocator before glibc's, whose arena is then never set up, and
  // malloc_trim would follow its null pointers.
  if constexpr (!kSanitized) malloc_trim(0);
}

}  // namespace skald
