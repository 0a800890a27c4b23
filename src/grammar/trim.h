/// What can be finished, and what is cut off because it cannot.
#pragma once

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "skald/status.h"

namespace skald::grammar {

/// Removes every edge behind which no end can be reached, so that each beginning that the
/// recogniser takes is the beginning of a text, and no mask is empty. A repetition of a rule that
/// may be empty gets `min` 0, which says the same. Sets `depths`, and what objects know of their
/// keys. Linear in the edges. Errors: kInvalidArgument if nothing is left; if `fuel` ran dry.
Status Trim(Fuel* fuel, Form* form);

}  // namespace skald::grammar
