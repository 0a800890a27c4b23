/// Documents: the texts of a folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.h"
#include "skald/status.h"

namespace skald::huggingface {

/// The path of the file `name` of a folder.
std::string PathInside(const std::string& folder, std::string_view name);

/// The file `name` of a folder, of at most 256 MiB. Errors: kNotFound, kIo; kBadModel for a longer
/// one.
Result<std::string> ReadDocument(const std::string& folder, std::string_view name);

/// The same, parsed. Errors: also kBadModel for no JSON.
Result<JsonTree> ReadTree(const std::string& folder, std::string_view name);

/// The same of a document that need not be there.
Result<std::optional<JsonTree>> ReadTreeIfThere(const std::string& folder, std::string_view name);

}  // namespace skald::huggingface
