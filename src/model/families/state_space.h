/// State spaces: the keys of Mamba-2, which families share.
#pragma once

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// The mixer that the keys ssm.* describe. Errors: kBadModel for missing keys, and for numbers that
/// cannot be divided as the block needs them.
Result<Mamba2> ReadMamba2(const Keys& keys, const Network& network);

}  // namespace skald::model
