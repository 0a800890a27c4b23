#include "cli/options.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "cli/model_lookup.h"
#include "cli/model_source.h"
#include "cli/rope_args.h"

namespace skald::cli {

namespace {

constexpr const char* kEngineGroup = "Resources";
constexpr const char* kSamplingGroup = "Sampling";
constexpr const char* kOutputGroup = "Output";

// Bounds that only keep typing errors out; what fits is decided by the engine.
constexpr int64_t kPositionsMax = std::numeric_limits<int32_t>::max();
constexpr int64_t kBytesMax = int64_t{1} << 50;

constexpr std::array<Choice<KvCacheType>, 5> kKvTypes = {{
    {"f16", KvCacheType::kF16},
    {"bf16", KvCacheType::kBF16},
    {"f32", KvCacheType::kF32},
    {"q8", KvCacheType::kQ8},
    {"q4", KvCacheType::kQ4},
}};
constexpr const char* kKvTypeWords = "f16|bf16|f32|q8|q4";
constexpr std::array<Choice<Conventions>, 2> kConventions = {{
    {"publisher", Conventions::kPublisher},
    {"llama.cpp", Conventions::kLlamaCpp},
}};
constexpr std::array<Choice<Pooling>, 4> kPoolings = {{
    {"first", Pooling::kFirst},
    {"last", Pooling::kLast},
    {"mean", Pooling::kMean},
    {"none", Pooling::kNone},
}};
constexpr std::array<Choice<ColorMode>, 3> kColorModes = {{
    {"auto", ColorMode::kAuto},
    {"always", ColorMode::kAlways},
    {"never", ColorMode::kNever},
}};
constexpr std::array<Choice<SamplingOrder>, 2> kSamplingOrders = {{
    {"standard", SamplingOrder::kStandard},
    {"llama.cpp", SamplingOrder::kLlamaCpp},
}};

// The names that there are are the engine's to say; whether this CPU has one, too.
AddedFlag AddIsa(CLI::App& app, std::string& target) {
  std::vector<std::string> names = {"best"};
  for (const InstructionSet& set : InstructionSets()) names.emplace_back(set.name);
  const std::string words = fmt::format("{}", fmt::join(names, "|"));
  return AddValue(app, {"--isa", "instruction set; all give the same text (default best)"},
                  words.c_str(), [&target, names, words](const std::string& value) {
                    if (std::find(names.begin(), names.end(), value) == names.end())
                      return Status(ErrorCode::kInvalidArgument,
                                    fmt::format("'{}' is not one of {}", value, words));
                    target = value;
                    return Ok();
                  });
}

Result<KvCacheType> ParseKvType(std::string_view text) {
  for (const auto& choice : kKvTypes) {
    if (choice.name == text) return choice.value;
  }
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not one of {}", text, kKvTypeWords));
}

// "q8", or "q8,f16": of keys, of values.
Result<KvCacheTypes> ParseKvTypes(std::string_view text) {
  const size_t comma = text.find(',');
  ASSIGN_OR_RETURN(const KvCacheType keys, ParseKvType(text.substr(0, comma)));
  if (comma == std::string_view::npos) return KvCacheTypes(keys);
  ASSIGN_OR_RETURN(const KvCacheType values, ParseKvType(text.substr(comma + 1)));
  return KvCacheTypes(keys, values);
}

// "29871=-1.5", "2=-inf"
Result<LogitBias> ParseLogitBias(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is not of the form ID=BIAS, e.g. 13=-2.5 or 2=-inf", text));
  ASSIGN_OR_RETURN(const TokenId token,
                   ParseInt<TokenId>(std::string_view(text).substr(0, equals), {.min = 0}));
  const std::string bias = text.substr(equals + 1);
  if (bias == "-inf") return LogitBias{token, -std::numeric_limits<float>::infinity()};
  ASSIGN_OR_RETURN(const double number, ParseDouble(bias));
  if (std::abs(number) > std::numeric_limits<float>::max())
    return Status(ErrorCode::kInvalidArgument, fmt::format("{} is out of range", bias));
  return LogitBias{token, static_cast<float>(number)};
}

void AddLogitBias(CLI::App& app, std::vector<LogitBias>& target) {
  const auto check = [](const std::string& value) { return ParseLogitBias(value).status(); };
  const auto store = [&target](const std::vector<std::string>& values) {
    target.clear();
    for (const std::string& value : values) target.push_back(*ParseLogitBias(value));
  };
  AddValues(app, {"--logit-bias", "add BIAS to the logit of token ID; repeatable"}, "ID=BIAS",
            check, store)
      .Group(kSamplingGroup);
}

void AddContext(CLI::App& app, int64_t& context) {
  AddInt<int64_t>(app,
                  {"-c,--ctx-size", "context in tokens; 0 = the model's, at most 4096 (default 0)"},
                  context, {0, kPositionsMax})
      .Group(kEngineGroup);
}

void AddHardwareArgs(CLI::App& app, EngineArgs& args) {
  AddThreadArgs(app, args);
  AddValue(app, {"--kv-type", "element type of the KV cache, or K,V: of each (default f16)"},
           kKvTypeWords,
           [&args](const std::string& value) {
             ASSIGN_OR_RETURN(args.kv_types, ParseKvTypes(value));
             return Ok();
           })
      .Group(kEngineGroup);
}

void AddStepArgs(CLI::App& app, EngineArgs& args) {
  AddInt<int64_t>(app, {"--chunk", "prompt tokens computed in one step (default 512)"}, args.chunk,
                  {1, kPositionsMax})
      .Group(kEngineGroup);
  AddBytes(app,
           {"--state-memory",
            "bytes (512M, 2G) for snapshots of recurrent layers (default half of the KV cache)"},
           args.state_memory, kBytesMax)
      .Group(kEngineGroup);
}

}  // namespace

void AddThreadArgs(CLI::App& app, EngineArgs& args) {
  AddInt<int>(app, {"-t,--threads", "threads; 0 = all cores (default 0)"}, args.threads,
              {0, kThreadsMax})
      .Group(kEngineGroup);
  AddIsa(app, args.isa).Group(kEngineGroup);
}

void AddModelArgs(CLI::App& app, ModelArgs& args) {
  AddText(app,
          {"-m,--model", fmt::format("a GGUF file, a folder with config.json, a name that 'skald "
                                     "ls' shows, or hf://owner/name (default {})",
                                     kBundledModel)},
          kModelType, args.model);
}

void AddModelWord(CLI::App& app, ModelArgs& args) {
  AddText(app, {"model", "the model, as -m names it"}, kModelType, args.word);
}

Result<std::string> ModelPath(const Environment& environment, const ModelArgs& args,
                              Console& console) {
  if (args.model.has_value() && args.word.has_value())
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("two models: -m {} and the argument '{}'", *args.model, *args.word));
  const std::optional<std::string>& name = args.word.has_value() ? args.word : args.model;
  return LocateModel(environment, name.value_or(std::string(kBundledModel)), console);
}

void AddComputeArgs(CLI::App& app, EngineArgs& args) {
  AddHardwareArgs(app, args);
  AddRankArgs(app, args.ranks);
  AddChoice(app,
            {"--conventions",
             "whose reading of a model file counts where they differ (default publisher)"},
            args.conventions, kConventions)
      .Group(kEngineGroup);
  AddRopeArgs(app, args.rope);
  AddEndlessArg(app, args.endless);
}

void AddEngineArgs(CLI::App& app, EngineArgs& args) {
  AddContext(app, args.context);
  AddComputeArgs(app, args);
  AddStepArgs(app, args);
}

void AddSizeArgs(CLI::App& app, EngineArgs& args) {
  AddContext(app, args.context);
  AddHardwareArgs(app, args);
  AddStepArgs(app, args);
}

std::string KvTypesName(KvCacheTypes types) {
  const auto name = [](KvCacheType type) {
    for (const auto& choice : kKvTypes) {
      if (choice.value == type) return choice.name;
    }
    UNREACHABLE();
  };
  if (types.keys == types.values) return std::string(name(types.keys));
  return fmt::format("{},{}", name(types.keys), name(types.values));
}

EngineOptions ToEngineOptions(const EngineArgs& args) {
  EngineOptions options;
  options.context = args.context;
  options.max_chunk = args.chunk;
  options.state_memory = args.state_memory;
  options.threads = args.threads;
  options.isa = args.isa;
  options.kv_types = args.kv_types;
  return options;
}

namespace {

void AddDryArgs(CLI::App& app, SamplingArgs& args) {
  Dry& dry = args.params.dry;
  AddDouble(app, {"--dry-multiplier", "DRY: discourage repetitions by X; 0 = off (default 0)"},
            dry.multiplier)
      .Group(kSamplingGroup);
  AddDouble(app, {"--dry-base", "DRY: times X for each token more (default 1.75)"}, dry.base)
      .Group(kSamplingGroup);
  AddInt<int32_t>(app, {"--dry-allowed-length", "DRY: tokens that may repeat (default 2)"},
                  dry.allowed_length, {.min = 1})
      .Group(kSamplingGroup);
  AddInt<int32_t>(app, {"--dry-penalty-last-n", "DRY: tokens looked back; -1 = all (default -1)"},
                  dry.last_n, {.min = -1})
      .Group(kSamplingGroup);
  AddValues(
      app,
      {"--dry-sequence-breaker",
       "DRY: no repetition reaches over a token with TEXT; repeatable; none = over all"},
      "TEXT", [](const std::string&) { return Ok(); },
      [&args](const std::vector<std::string>& values) {
        const bool is_none = values.size() == 1 && values.front() == "none";
        args.dry_breakers = is_none ? std::vector<std::string>() : values;
      })
      .Group(kSamplingGroup);
}

// Those beside the filters that everybody has.
void AddSamplers(CLI::App& app, SamplingArgs& args) {
  SamplingParams& p = args.params;
  const auto number = [&app](FlagText text, double& target) {
    AddDouble(app, text, target).Group(kSamplingGroup);
  };
  number({"--top-n-sigma", "keep logits X deviations below the largest; 0 = all (default 0)"},
         p.truncation.top_n_sigma);
  number({"--xtc-probability", "how often XTC removes the likeliest tokens (default 0)"},
         p.truncation.xtc_probability);
  number({"--xtc-threshold", "XTC: those as likely as this, but for the last (default 0.1)"},
         p.truncation.xtc_threshold);
  AddDryArgs(app, args);
  number({"--dynatemp-range", "move the temperature by up to X, by the entropy (default 0)"},
         p.dynamic_temperature.range);
  number({"--dynatemp-exp", "exponent of the entropy's share (default 1)"},
         p.dynamic_temperature.exponent);
  AddInt<int32_t>(app, {"--mirostat", "2 = Mirostat 2 in place of the filters (default 0)"},
                  p.mirostat.version, {0, 2})
      .Group(kSamplingGroup);
  number({"--mirostat-tau", "Mirostat: surprise of the text in bits (default 5)"}, p.mirostat.tau);
  number({"--mirostat-eta", "Mirostat: how fast it is reached (default 0.1)"}, p.mirostat.eta);
}

}  // namespace

Result<SamplingParams> SamplingFor(const SamplingArgs& args, const Tokenizer& tokenizer) {
  SamplingParams params = args.params;
  if (params.dry.multiplier == 0) return params;
  Result<std::vector<TokenId>> breakers = tokenizer.TokensContaining(args.dry_breakers);
  if (!breakers.ok())
    return Status(breakers.status().code(),
                  "--dry-sequence-breaker: " + breakers.status().message());
  params.dry.breakers = *std::move(breakers);
  return params;
}

void AddSamplingArgs(CLI::App& app, SamplingArgs& args) {
  SamplingParams& p = args.params;
  const auto number = [&app](FlagText text, double& target) {
    AddDouble(app, text, target).Group(kSamplingGroup);
  };
  number({"--temp,--temperature", "temperature; 0 = always the likeliest token (default 0.8)"},
         p.temperature);
  AddInt<int32_t>(app, {"--top-k", "keep the N likeliest tokens; 0 = all (default 40)"},
                  p.truncation.top_k, {.min = 0})
      .Group(kSamplingGroup);
  number({"--top-p", "keep the likeliest tokens that sum to X; 1 = all (default 0.95)"},
         p.truncation.top_p);
  number({"--min-p", "keep tokens X times as likely as the likeliest; 0 = all (default 0.05)"},
         p.truncation.min_p);
  number({"--typical", "keep the most typical tokens that sum to X; 1 = all (default 1)"},
         p.truncation.typical_p);
  number({"--repeat-penalty", "discourage tokens already seen; 1 = off (default 1)"},
         p.penalties.repetition);
  number({"--presence-penalty", "subtract X if a token was generated before (default 0)"},
         p.penalties.presence);
  number({"--frequency-penalty", "subtract X each time it was generated before (default 0)"},
         p.penalties.frequency);
  AddInt<int32_t>(app, {"--repeat-last-n", "tokens the penalties look back; -1 = all (default 64)"},
                  p.penalties.last_n, {.min = -1})
      .Group(kSamplingGroup);
  AddSamplers(app, args);
  AddLogitBias(app, p.logit_bias);
  AddChoice(app, {"--sampling-order", "when temperature is applied (default standard)"}, p.order,
            kSamplingOrders)
      .Group(kSamplingGroup);
  AddValue(app, {"--seed", "same seed, same text; left out or -1: a random one, shown at the end"},
           "N",
           [&args](const std::string& value) {
             args.seed.reset();
             if (value == "-1") return Ok();  // llama.cpp's word for it
             Result<uint64_t> seed = ParseInt<uint64_t>(value);
             if (!seed.ok())
               return Status(ErrorCode::kInvalidArgument,
                             seed.status().message() + "; leave it out for a random seed");
             args.seed = *seed;
             return Ok();
           })
      .Group(kSamplingGroup);
}

AddedFlag AddPooling(CLI::App& app, std::optional<Pooling>& pooling) {
  return AddChoice(app,
                   {"--pooling",
                    "an embedding is the hidden state of the first or the last token or the mean "
                    "of all; none: there are none (default what the model's file says, else "
                    "last, or mean where a model reads texts both ways)"},
                   pooling, kPoolings);
}

Pooling PoolingFor(std::optional<Pooling> flag, const ModelInfo& info) {
  // The last token has seen all others only where there is a mask.
  return flag.value_or(info.pooling.value_or(info.generates ? Pooling::kLast : Pooling::kMean));
}

void AddStopArgs(CLI::App& app, StopArgs& args) {
  AddInt<int64_t>(app,
                  {"-n,--n-predict",
                   "tokens to generate; -1 = until the model stops or the context is full "
                   "(default -1)"},
                  args.max_tokens, {.min = -1});
  AddTexts(app, {"--stop", "end before this text; repeatable"}, kTextType, args.stop);
  AddSwitch(app, {"--ignore-eos", "go on after the model ends the text"}, args.ignore_eos, true);
}

void AddTextArgs(CLI::App& app, TextArgs& args, const std::string& noun) {
  const FlagText positional = {noun, fmt::format("the {}; - reads it from stdin", noun)};
  AddText(app, positional, kTextType, args.argument);
  AddTextFlags(app, args, noun);
}

void AddTextFlags(CLI::App& app, TextArgs& args, const std::string& noun) {
  AddText(app, {"-p,--prompt", fmt::format("the {}, also if it starts with a dash", noun)},
          kTextType, args.prompt);
  AddText(app, {"-f,--file", fmt::format("read the {} from a file", noun)}, kFileType, args.file);
  AddSwitch(app, {"--special", "let the text spell control tokens, such as <|im_end|>"},
            args.encode.special, SpecialTokens::kParse);
  AddSwitch(app, {"--no-bos", "do not put the model's beginning-of-sequence token in front"},
            args.encode.boundary, BoundaryTokens::kNone);
}

Result<std::optional<std::string>> ReadText(const TextArgs& args, const Terminals& terminals) {
  const int sources = static_cast<int>(args.argument.has_value()) +
                      static_cast<int>(args.prompt.has_value()) +
                      static_cast<int>(args.file.has_value());
  if (sources > 1)
    return Status(ErrorCode::kInvalidArgument,
                  "the text was given more than once: use one of the argument, -p and -f");
  if (args.prompt.has_value()) return args.prompt;
  if (args.argument.has_value() && *args.argument != "-") return args.argument;
  if (sources == 0 && terminals.input) return std::optional<std::string>();
  ASSIGN_OR_RETURN(std::string text, ReadInput(args.file.value_or("-")));
  return std::optional<std::string>(WithoutFinalNewline(std::move(text)));
}

void AddConsoleArgs(CLI::App& app, ConsoleOptions& args) {
  AddSwitch(app, {"-q,--quiet", "nothing on stderr but errors"}, args.verbosity, Verbosity::kQuiet)
      .Group(kOutputGroup);
  AddSwitch(app, {"--verbose", "say what is loaded and how it runs"}, args.verbosity,
            Verbosity::kVerbose)
      .Group(kOutputGroup);
  AddChoice(app, {"--color", "colour and faint type (default auto)"}, args.color, kColorModes)
      .Group(kOutputGroup);
}

void AddOutputArgs(CLI::App& app, OutputArgs& args) {
  AddSwitch(app, {"--json", "print one JSON object instead of text"}, args.form, OutputForm::kJson)
      .Group(kOutputGroup);
  AddConsoleArgs(app, args.console);
}

}  // namespace skald::cli
