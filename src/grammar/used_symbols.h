/// UsedSymbols: which bytes and control tokens the texts of a grammar may hold.
#pragma once

#include <bitset>
#include <set>

#include "grammar/form.h"
#include "skald/ids.h"

namespace skald::grammar {

struct UsedSymbols {
  std::bitset<256> bytes = {};
  std::set<TokenId> tokens = {};
};

/// Those of all rules that the root leads to. O(n log n) in the size of the form.
UsedSymbols UsedSymbolsOf(const Form& form);

}  // namespace skald::grammar
