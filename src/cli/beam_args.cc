#include "cli/beam_args.h"

#include <algorithm>
#include <array>

#include "cli/flags.h"

namespace skald::cli {
namespace {

constexpr const char* kGroup = "Beam search";

constexpr std::array<Choice<BeamStop>, 3> kStops = {{
    {"false", BeamStop::kEstimate},
    {"true", BeamStop::kFirst},
    {"never", BeamStop::kNever},
}};

}  // namespace

void AddBeamArgs(CLI::App& app, BeamArgs& args) {
  AddInt<int32_t>(app,
                  {"--beams,--num-beams",
                   "look for the likeliest text among so many at a time; 0 = sample (default 0)"},
                  args.params.beams, {0, kMaxSequences})
      .Group(kGroup);
  AddInt<int32_t>(app, {"--n-best", "texts to print, the best first (default 1)"}, args.best,
                  {1, kMaxSequences})
      .Group(kGroup);
  AddDouble(app, {"--length-penalty", "scores are divided by length to this power (default 1)"},
            args.params.length_penalty)
      .Group(kGroup);
  AddChoice(app,
            {"--early-stopping",
             "when to stop with as many texts as beams: as transformers (default false)"},
            args.params.stop, kStops)
      .Group(kGroup);
}

Status CheckBeamArgs(const BeamArgs& args) {
  if (args.best > std::max(1, args.params.beams))
    return Status(ErrorCode::kInvalidArgument, "--n-best is larger than --beams");
  return Ok();
}

void MakeRoomForBeams(const BeamArgs& args, const BeamWork& work, EngineOptions* options) {
  const int64_t beams = args.params.beams;
  if (beams == 0) return;
  options->max_running = std::max(options->max_running, beams);
  const int64_t rest = std::max<int64_t>(0, work.context - work.prompt);
  const int64_t output = work.max_tokens < 0 ? rest : std::min(rest, work.max_tokens);
  // Behind the prompt nothing may be shared; a page where it ends and one ahead for each.
  constexpr int64_t kSpare = 64;
  options->kv_positions = std::max(options->kv_positions,
                                   std::max(work.context, work.prompt + beams * (output + kSpare)));
}

}  // namespace skald::cli
