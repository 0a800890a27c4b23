/// `skald logits`: the logits of every position of a token sequence, as raw numbers.
///
/// The output is vocabulary-sized rows of little-endian float32, one per token, without a header:
/// what comparisons with other engines and between runs want.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald logits` was asked to do.
struct LogitsOptions {
  ModelArgs model;
  std::optional<std::string> tokens;       ///< --tokens 1,2,3
  std::optional<std::string> tokens_file;  ///< --tokens-file; "-" is stdin
  std::string out;                         ///< --out; "-" is stdout
  std::vector<int64_t> chunks;             ///< --chunks; empty: one size that bounds the memory
  EngineArgs engine;
  ConsoleOptions console;
};

/// The sizes in which `token_count` tokens are computed: those given, else kLogitChunk. The last
/// one repeats.
std::vector<int64_t> LogitChunks(const std::vector<int64_t>& given, int64_t token_count);

/// Rows computed at once by default: 64 rows of 128 Ki logits are 32 MiB.
inline constexpr int64_t kLogitChunk = 64;

/// Adds the verb; parsing it sets `chosen`.
void AddLogitsCommand(CLI::App& root, Action& chosen);

/// Computes and writes. Errors: those of lookup, loading, LogitsSession and OutputFile;
/// kInvalidArgument if the result would go to a terminal; kCancelled after Ctrl-C. After an error
/// the output file is as it was before.
Status Logits(const LogitsOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
