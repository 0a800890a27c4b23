/// MemoryBytes: what a compiled grammar takes.
#pragma once

#include <cstddef>

#include "grammar/form.h"

namespace skald::grammar {

/// In about: what its tables hold.
size_t MemoryBytes(const Form& form);

}  // namespace skald::grammar
