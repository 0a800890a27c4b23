/// The heap as a whole.
#pragma once

namespace skald {

/// Gives free memory of all threads back to the kernel. glibc keeps an arena for each thread, and
/// in each what its largest work took. May be called by any thread. Costs a look at every free
/// block: for the end of work that took much, not for each piece.
void ReturnFreeMemory();

}  // namespace skald
