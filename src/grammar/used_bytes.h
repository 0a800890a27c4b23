/// UsedBytes: which bytes the texts of a grammar may hold.
#pragma once

#include <bitset>

#include "grammar/form.h"

namespace skald::grammar {

/// Those of all rules that the root leads to. Linear in the size of the form.
std::bitset<256> UsedBytes(const Form& form);

}  // namespace skald::grammar
