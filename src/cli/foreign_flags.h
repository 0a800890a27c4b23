/// The flags that people bring from llama.cpp, Ollama and vLLM: each is taken, turned into ours, or
/// answered in a sentence.
///
/// CLI11 knows two dashes for long flags and one for letters, so it would cut "-ngl" into "-n gl"
/// and answer "-hf" with the help. ResolveFlags stands before it and lets nothing pass that a verb
/// does not know.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11_forward.h"
#include "skald/status.h"

namespace skald::cli {

/// What follows a flag in the program that has it.
enum class ForeignValue : uint8_t {
  kNone,
  kOne,
  kMaybe,  ///< on, off, auto, true, false, 0 or 1, or nothing
};

/// What becomes of a flag.
enum class ForeignAnswer : uint8_t {
  kOurs,     ///< it is one of ours under another name
  kIgnored,  ///< nothing depends on it here: taken, and said so on stderr
  kRefused,  ///< it would change what comes out, or wants what skald does not have
};

/// A row of the table.
struct ForeignFlag {
  std::string_view names;  ///< all spellings, with dashes, separated by spaces
  std::string_view from;   ///< the program people know it from
  ForeignValue value;
  ForeignAnswer answer;
  /// kOurs: our flag. Else a value with which it asks for nothing, or empty: "1" of --grp-attn-n.
  std::string_view ours;
  /// What it does there, and what skald does instead; of kOurs the first only.
  std::string_view there;
  std::string_view here = {};
  std::string_view verb = {};  ///< only for this verb; empty: for every one
};

/// The table.
std::span<const ForeignFlag> ForeignFlags();

/// A verb of another program, and what to type here.
struct ForeignVerb {
  std::string_view name;
  std::string_view here;
};
std::span<const ForeignVerb> ForeignVerbs();

/// A command line that holds only what its verb knows.
struct ResolvedLine {
  std::vector<std::string> arguments;
  std::vector<std::string> notes;  ///< what was taken though nothing depends on it
};

/// `arguments`, as they stand behind the name of `verb`, with our flags in the place of others'.
/// What stands behind "--", or is the value of a flag, is left alone. Errors: kInvalidArgument for
/// a flag nobody knows, with what was meant, and for kRefused.
Result<ResolvedLine> ResolveFlags(const CLI::App& verb, std::span<const std::string> arguments);

}  // namespace skald::cli
