/// `skald embed`: a text to a vector.
#pragma once

#include <optional>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald embed` was asked to do.
struct EmbedOptions {
  ModelArgs model;
  EngineArgs engine;
  TextArgs text;
  std::optional<Pooling> pooling = {};
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddEmbedCommand(CLI::App& root, Action& chosen);

/// Loads the model, computes, prints the numbers. Errors: those of lookup, loading, Tokenizer::
/// Encode and Engine::Embed, and of Console::Write.
Status Embed(const EmbedOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
