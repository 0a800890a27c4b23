/// The families this version runs. A family is one function that makes a network from the keys of a
/// file, in a file of its own; nothing else in the project asks for a family by name.
#pragma once

#include <string>
#include <string_view>

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// The valid network that a file of `architecture` (general.architecture) describes, without its
/// tensors. Errors: kUnsupported for a family or a feature that this version does not run,
/// kBadModel for numbers that make no sense.
Result<Network> ReadNetwork(std::string_view architecture, const Keys& keys);

/// "internlm2, llama, ...": for messages.
std::string FamilyNames();

}  // namespace skald::model
