/// From what stands after -m to a file: a model that is here, or one that is fetched first.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/console.h"
#include "cli/environment.h"
#include "skald/hub.h"
#include "skald/status.h"

namespace skald::cli {

/// The hub as the surroundings say: Hugging Face's cache, endpoint and token. Errors: as ReadInput,
/// of the token's file.
Result<HubOptions> HubOptionsOf(const Environment& environment);

/// The reference that `name` is: it says where it comes from (hf://, https://, hf.co/), or it is
/// "owner/name" and nothing here is called so. Nothing is looked up.
std::optional<ModelReference> AsReference(const std::string& name);

/// How far a pull is, for its progress line; and the whole of it, with the line on the terminal and
/// Ctrl-C obeyed. What it needs is said before it begins. Errors: as Hub::Find and Hub::Pull.
struct Pulled {
  RemoteModel model;
  std::string path;  ///< of its first file
};
Result<Pulled> PullWithProgress(const HubOptions& options, const ModelReference& reference,
                                Console& console);

/// The path of the model that `name` means. One that is not here and can be had is pulled. Errors:
/// as FindModel and PullWithProgress; kUnavailable if it would be pulled and HF_HUB_OFFLINE is set.
Result<std::string> LocateModel(const Environment& environment, const std::string& name,
                                Console& console);

}  // namespace skald::cli
