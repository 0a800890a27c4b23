/// The heap as a whole.
#pragma once

namespace skald {

/// Gives free memory of all threads back to the kernel. glibc keeps an arena for each thread, and
/// in each what its largest work took. Costs a look at every free block, some ms, and holds the
/// heap of each thread meanwhile: for the end of work that took much, not for each piece, and not
/// for a thread that gives way to others (thread.h).
void ReturnFreeMemory();

}  // namespace skald
