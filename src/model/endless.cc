#include "model/endless.h"

#include <string>
#include <variant>

#include "base/status_macros.h"
#include "kernels/attention/attention.h"

namespace skald::model {
namespace {

static_assert(kMaxSinks <= kernels::kPartitionTokens);

Status CheckNumber(const char* name, int64_t number, int64_t least, int64_t most) {
  if (number >= least && number <= most) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                std::string("the ") + name + " of an endless text is " + std::to_string(number) +
                    ", expected " + std::to_string(least) + " to " + std::to_string(most));
}

Status CannotBe(const char* why) {
  return Status(ErrorCode::kUnsupported,
                std::string("texts of this model cannot be endless: ") + why);
}

Status CheckNetwork(const Network& network) {
  if (network.positions == Positions::kLearned) return CannotBe("its positions were learned");
  if (NeedsWholeTexts(network)) return CannotBe("it reads texts whole");
  if (network.picked_positions > 0) return CannotBe("its layers pick the positions that they see");
  return Ok();
}

// True of a mixer that would see the whole context, and sees less now.
bool Limit(const Endless& endless, Mixer* mixer) {
  const auto limit = [&](auto* block) {
    block->window = endless.window;
    block->pinned = endless.sinks;
    return true;
  };
  if (auto* mla = std::get_if<Mla>(mixer)) return limit(mla);
  auto* gqa = std::get_if<Gqa>(mixer);
  const bool sees_all = gqa != nullptr && gqa->window == 0 && gqa->chunk == 0;
  return sees_all && limit(gqa);
}

}  // namespace

Status MakeEndless(const Endless& endless, Network* network) {
  if (endless == Endless()) return Ok();
  RETURN_IF_ERROR(CheckNumber("sinks", endless.sinks, 0, kMaxSinks));
  RETURN_IF_ERROR(CheckNumber("window", endless.window, 1, kMaxEndlessWindow));
  RETURN_IF_ERROR(CheckNetwork(*network));
  bool has_any = false;
  for (Layer& layer : network->layers) {
    for (Mixer* mixer : {&layer.mixer, &layer.beside}) {
      has_any = Limit(endless, mixer) || has_any;
    }
  }
  if (!has_any) return CannotBe("none of its layers sees the whole context");
  // Factors for long texts are for long distances, and there are none beyond this.
  for (Rope& rope : network->ropes) {
    if (endless.sinks + endless.window <= rope.original_context) rope.long_factors_name = {};
  }
  network->context = kEndlessContext;
  network->is_endless = true;
  return Ok();
}

}  // namespace skald::model
