/// What names the whole of a receipt and the tokens in it.
#pragma once

#include <string>
#include <string_view>

#include "skald/receipt.h"

namespace skald::proof {

/// 64 digits of SHA-256.
std::string HashOfText(std::string_view text);

/// What Receipt::seal should be: it covers every member, but for itself.
std::string SealOf(Receipt receipt);

}  // namespace skald::proof
