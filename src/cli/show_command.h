/// `skald show`: what is in a model file and what it will need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/model.h"
#include "skald/status.h"

namespace skald::cli {

/// Which long lists are printed as well.
struct ShowLists {
  bool metadata = false;
  bool tensors = false;
};

/// What `skald show` was asked to do.
struct ShowOptions {
  ModelArgs model;
  ShowLists lists;
  OutputArgs output;
};

/// The tensors of one element type together.
struct TypeSize {
  std::string type;
  int64_t tensors = 0;
  int64_t bytes = 0;
};

/// Sizes by element type, the largest first.
std::vector<TypeSize> SizesByType(const std::vector<FileEntry>& tensors);

/// The contexts whose memory is shown: 2048, 4096 and the model's own, ascending, none twice and
/// none longer than the model's own (unless that is unknown, 0).
std::vector<int64_t> ContextsToShow(int64_t model_context);

/// The description for people, and as one JSON object.
std::string ShowText(const ModelDescription& description, const ShowLists& lists);
std::string ShowJson(const ModelDescription& description, const ShowLists& lists);

/// Adds the verb; parsing it sets `chosen`.
void AddShowCommand(CLI::App& root, Action& chosen);

/// Reads the file's tables (no weights) and prints. Errors: those of lookup, DescribeModel and
/// Console::Write.
Status Show(const ShowOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
