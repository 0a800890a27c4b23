#include "cli/rope_args.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/parse_number.h"

namespace skald::cli {
namespace {

constexpr const char* kRopeGroup = "Context beyond the trained one";

constexpr std::array<Choice<RopeStretch>, 4> kStretches = {{
    {"none", RopeStretch::kNone},
    {"linear", RopeStretch::kLinear},
    {"ntk", RopeStretch::kNtk},
    {"yarn", RopeStretch::kYarn},
}};

void AddNumber(CLI::App& app, const FlagText& text, std::optional<double>& target) {
  const auto take = [&target](const std::string& value) {
    Result<double> number = ParseDouble(value);
    if (number.ok()) target = *number;
    return std::move(number).status();
  };
  AddValue(app, text, "X", take).Group(kRopeGroup);
}

}  // namespace

void AddRopeArgs(CLI::App& app, RopeOverride& rope) {
  AddChoice(app,
            {"--rope-scaling",
             "how positions are pressed into the trained ones (default: the "
             "file's; linear where it has none)"},
            rope.stretch, kStretches)
      .Group(kRopeGroup);
  AddNumber(app, {"--rope-scale", "a context X times as long as the trained one"}, rope.factor);
  AddNumber(app, {"--rope-freq-base", "frequency base of the positions"}, rope.base);
  const auto take_context = [&rope](const std::string& value) {
    Result<int64_t> number = ParseInt<int64_t>(value, {.min = 1});
    if (number.ok()) rope.trained_context = *number;
    return std::move(number).status();
  };
  AddValue(app, {"--yarn-orig-ctx", "the trained context in tokens (default: the file's)"}, "N",
           take_context)
      .Group(kRopeGroup);
  AddNumber(app, {"--yarn-ext-factor", "YaRN: 0 = interpolate all frequencies (default 1)"},
            rope.extrapolation);
  AddNumber(app, {"--yarn-attn-factor", "YaRN: magnitude of the positions (default 1 + 0.1 ln X)"},
            rope.magnitude);
  AddNumber(app, {"--yarn-beta-fast", "YaRN: turns from which a frequency stays (default 32)"},
            rope.beta_fast);
  AddNumber(app, {"--yarn-beta-slow", "YaRN: turns below which one is divided (default 1)"},
            rope.beta_slow);
}

std::string RopeName(const RopeOverride& rope) {
  if (rope.empty()) return {};
  std::string name = "rope";
  for (const auto& choice : kStretches) {
    if (rope.stretch == choice.value) name += fmt::format("_{}", choice.name);
  }
  const auto add = [&name](std::string_view what, const auto& number) {
    if (number) name += fmt::format("_{}{}", what, *number);
  };
  add("x", rope.factor);
  add("base", rope.base);
  add("ctx", rope.trained_context);
  add("ext", rope.extrapolation);
  add("attn", rope.magnitude);
  add("fast", rope.beta_fast);
  add("slow", rope.beta_slow);
  return name;
}

void AddEndlessArg(CLI::App& app, Endless& endless) {
  const auto take = [&endless](const std::string& value) -> Status {
    const size_t comma = value.find(',');
    if (comma == std::string::npos) {
      return Status(ErrorCode::kInvalidArgument,
                    "expected two numbers, SINKS,WINDOW, such as 4,1020");
    }
    ASSIGN_OR_RETURN(endless.sinks,
                     ParseInt<int64_t>(value.substr(0, comma), {.min = 0, .max = kMaxSinks}));
    ASSIGN_OR_RETURN(endless.window, ParseInt<int64_t>(value.substr(comma + 1),
                                                       {.min = 1, .max = kMaxEndlessWindow}));
    return Ok();
  };
  AddValue(app,
           {"--endless",
            "texts without an end: each token sees the first SINKS tokens and the last WINDOW, and "
            "no more stay in memory"},
           "SINKS,WINDOW", take)
      .Group(kRopeGroup);
}

std::string EndlessName(const Endless& endless) {
  if (!endless.exists()) return {};
  return fmt::format("endless{}_{}", endless.sinks, endless.window);
}

}  // namespace skald::cli
