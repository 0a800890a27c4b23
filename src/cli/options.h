/// Groups of options that several verbs share: what they hold, and how they get onto a verb.
///
/// Each group is a plain struct with the defaults in it and an Add function that binds a verb's
/// flags to one. The struct must outlive the parse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli11_forward.h"
#include "cli/console.h"
#include "cli/environment.h"
#include "cli/flags.h"
#include "cli/rank_args.h"
#include "skald/conventions.h"
#include "skald/endless.h"
#include "skald/engine.h"
#include "skald/rope_override.h"
#include "skald/sampling_params.h"
#include "skald/status.h"
#include "skald/tokenizer.h"

namespace skald::cli {

/// What -t takes at most; the engine has a bound of its own.
inline constexpr int kThreadsMax = 4096;

/// -m MODEL, or MODEL as a bare word
struct ModelArgs {
  std::optional<std::string> model = {};  ///< a path or a name; unset: the bundled model
  std::optional<std::string> word = {};   ///< the same, without a flag
};
void AddModelArgs(CLI::App& app, ModelArgs& args);
/// The bare word, for verbs that take no text.
void AddModelWord(CLI::App& app, ModelArgs& args);

/// The path of the model that was asked for, pulled if need be. Errors: as LocateModel;
/// kInvalidArgument if it was asked for twice.
Result<std::string> ModelPath(const Environment& environment, const ModelArgs& args,
                              Console& console);

/// -t, --ranks and what belongs to it, -c, --chunk, --state-memory, --isa, --kv-type,
/// --conventions, --rope-..., --endless: sizes and resources. They cannot change the answer, except
/// that a longer context can hold more of it and the KV type, the conventions, the ropes and what
/// rows of an endless text see are part of the computation.
struct EngineArgs {
  int64_t context = 0;
  int64_t chunk = 512;
  int64_t state_memory = -1;  ///< EngineOptions
  int threads = 0;
  RankArgs ranks = {};
  std::string isa = "best";
  KvCacheTypes kv_types = {};
  Conventions conventions = Conventions::kPublisher;  ///< of the model
  RopeOverride rope = {};                             ///< of the model
  Endless endless = {};                               ///< of the model
};
void AddEngineArgs(CLI::App& app, EngineArgs& args);
/// All of them that sizes follow from: neither --ranks nor --conventions, the --rope flags or
/// --endless.
void AddSizeArgs(CLI::App& app, EngineArgs& args);
/// Only -t and --isa, for a verb that is told all else.
void AddThreadArgs(CLI::App& app, EngineArgs& args);
/// Only -t, --ranks and what belongs to it, --isa, --kv-type, --conventions, the --rope flags and
/// --endless, for a verb that sizes its engine itself.
void AddComputeArgs(CLI::App& app, EngineArgs& args);

/// "f16", "q8,f16": what --kv-type calls them.
std::string KvTypesName(KvCacheTypes types);

/// EngineOptions with these values.
EngineOptions ToEngineOptions(const EngineArgs& args);

/// --temp and all that decides how a token is chosen.
struct SamplingArgs {
  SamplingParams params;         ///< its seed and DRY's breakers are not used
  std::optional<uint64_t> seed;  ///< unset: draw one
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};  ///< as llama.cpp has them
};
/// The parameters, with DRY's breakers as tokens, for this vocabulary. Errors: kInvalidArgument if
/// one of them stands in no token.
Result<SamplingParams> SamplingFor(const SamplingArgs& args, const Tokenizer& tokenizer);
void AddSamplingArgs(CLI::App& app, SamplingArgs& args);

/// --pooling: what an embedding is made of.
AddedFlag AddPooling(CLI::App& app, std::optional<Pooling>& pooling);

/// What an embedding is made of: what the flag says, else the model's file, else the last token, or
/// all of them where each sees those behind it.
Pooling PoolingFor(std::optional<Pooling> flag, const ModelInfo& info);

/// -n, --stop, --ignore-eos
struct StopArgs {
  int64_t max_tokens = -1;
  bool ignore_eos = false;
  std::vector<std::string> stop;
};
void AddStopArgs(CLI::App& app, StopArgs& args);

/// Where a text comes from, and how it becomes tokens.
struct TextArgs {
  std::optional<std::string> argument;  ///< the positional argument; "-" is stdin
  std::optional<std::string> prompt;    ///< -p
  std::optional<std::string> file;      ///< -f; "-" is stdin
  EncodeOptions encode;                 ///< --special, --no-bos
};
/// `noun` is what the text is called in the help: "prompt", "text".
void AddTextArgs(CLI::App& app, TextArgs& args, const std::string& noun);
/// All of them but the argument.
void AddTextFlags(CLI::App& app, TextArgs& args, const std::string& noun);

/// The text, less one final newline if it was read from a file or stdin; nothing if none was given
/// and stdin is a terminal. Errors: kInvalidArgument if two sources were given; as ReadInput.
Result<std::optional<std::string>> ReadText(const TextArgs& args, const Terminals& terminals);

/// What form results take.
enum class OutputForm : uint8_t { kText, kJson };

/// --quiet, --verbose, --color
void AddConsoleArgs(CLI::App& app, ConsoleOptions& args);

/// --json and those
struct OutputArgs {
  OutputForm form = OutputForm::kText;
  ConsoleOptions console;
};
void AddOutputArgs(CLI::App& app, OutputArgs& args);

}  // namespace skald::cli
