#include "cli/speculation_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/loading.h"

namespace skald::cli {
namespace {

constexpr const char* kGroup = "Speculation";

constexpr std::array<Choice<Speculation>, 4> kKinds = {{
    {"off", Speculation::kOff},
    {"ngram", Speculation::kNgram},
    {"draft", Speculation::kDraft},
    {"chain", Speculation::kChain},
}};

constexpr std::array<Choice<SpeculationRule>, 2> kRules = {{
    {"exact", SpeculationRule::kExact},
    {"rejection", SpeculationRule::kRejection},
}};

Status Contradiction(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

std::string SpeculationName(Speculation kind) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [kind](const auto& choice) { return choice.value == kind; });
  return std::string(found->name);
}

void AddSpeculationArgs(CLI::App& app, SpeculationArgs& args) {
  AddChoice(app,
            {"--spec",
             "who guesses tokens ahead: the text comes sooner (default off, with --draft "
             "draft)"},
            args.kind, kKinds)
      .Group(kGroup);
  AddChoice(app,
            {"--spec-rule",
             "the text that comes without guesses, or one of the same distribution (default "
             "exact)"},
            args.rule, kRules)
      .Group(kGroup);
  AddText(app, {"--draft,--model-draft", "a smaller model with the same vocabulary, to guess with"},
          "MODEL", args.draft)
      .Group(kGroup);
  AddInt<int64_t>(app, {"--draft-max", "most tokens guessed at a time (default 8)"}, args.draft_max,
                  {1, kMaxDraft})
      .Group(kGroup);
  AddInt<int64_t>(app, {"--draft-min", "fewest, where more pay or not (default 0)"}, args.draft_min,
                  {0, kMaxDraft})
      .Group(kGroup);
}

Result<SpeculationOptions> LoadSpeculation(const SpeculationArgs& args,
                                           const Environment& environment, const EngineArgs& engine,
                                           Console& console) {
  const bool off = args.kind == Speculation::kOff;
  SpeculationOptions options = {.kind = off && args.draft ? Speculation::kDraft : args.kind,
                                .rule = args.rule,
                                .max_draft = args.draft_max,
                                .min_draft = args.draft_min};
  if (options.kind == Speculation::kOff && args.rule != SpeculationRule::kExact)
    return Contradiction("--spec-rule says nothing without --spec or --draft");
  if (args.draft_min > args.draft_max)
    return Contradiction("--draft-min is larger than --draft-max");
  const bool drafts = options.kind == Speculation::kDraft || options.kind == Speculation::kChain;
  if (drafts && !args.draft) return Contradiction("--spec draft and chain need --draft MODEL");
  if (!drafts && args.draft) return Contradiction("--spec ngram has no use for --draft MODEL");
  if (!drafts) return options;
  ASSIGN_OR_RETURN(const std::string path,
                   ModelPath(environment, ModelArgs{.model = *args.draft}, console));
  EngineArgs whole = engine;
  whole.ranks = {};  // it is small
  ASSIGN_OR_RETURN(options.draft, LoadWithProgress(path, whole, console));
  return options;
}

std::string SpeculationLine(const EngineStats& stats) {
  return fmt::format("speculation: {} of {} guessed tokens were right; {} passes for {} tokens",
                     stats.draft_tokens_accepted, stats.draft_tokens, stats.passes,
                     stats.output_tokens);
}

}  // namespace skald::cli
