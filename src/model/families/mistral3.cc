// Ministral 3: llama with YaRN, whose queries grow with the logarithm of their position (Mistral AI
// 2025). With experts where the file has some.

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Mistral3(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadMixtureOrGated(keys, {}, &network));
  Rope& rope = network.ropes[0];
  RETURN_IF_ERROR(Validate(rope));  // its numbers are used below
  if (rope.scaling == RopeScaling::kYarn) {
    RETURN_IF_ERROR(ReadYarnBetas(keys, &rope));
    ASSIGN_OR_RETURN(const double all, keys.NumberOr("rope.scaling.yarn_log_multiplier", 0));
    RETURN_IF_ERROR(NotNegative("YaRN's log multiplier", all));
    if (all != 0) rope.magnitude = YarnMagnitude(rope.factor) / YarnMagnitude(rope.factor, all);
  }
  ASSIGN_OR_RETURN(const double scale, keys.NumberOr("attention.temperature_scale", 0));
  if (scale == 0) return network;
  ASSIGN_OR_RETURN(const int64_t length,
                   keys.SizeOr("rope.scaling.original_context_length", network.context));
  for (Layer& layer : network.layers) {
    std::get<Gqa>(layer.mixer).temperature = {.scale = scale, .length = length};
  }
  return network;
}

}  // namespace skald::model
