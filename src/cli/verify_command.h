/// `skald verify`: whether a model said what a receipt says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/receipt.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald verify` was asked to do.
struct VerifyCommandOptions {
  std::string receipt;  ///< a file, or "-"
  ModelArgs model;
  std::optional<std::string> prompt_tokens;  ///< files with ids
  std::optional<std::string> output_tokens;
  int64_t context = 0;  ///< VerifyOptions
  EngineArgs engine;    ///< its threads and isa
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddVerifyCommand(CLI::App& root, Action& chosen);

/// A receipt that does not hold is a Console::Mismatch. Errors: of reading files, lookup, LoadModel
/// and VerifyReceipt.
Status Verify(const VerifyCommandOptions& options, const Environment& environment,
              Console& console);

/// One line for people, or a JSON object; each with a newline.
std::string VerdictText(const Verdict& verdict, const Receipt& receipt);
std::string VerdictJson(const Verdict& verdict);

}  // namespace skald::cli
