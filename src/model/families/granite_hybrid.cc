// Granite 4.0 H: Granite's factors around Mamba-2, and attention where a layer has KV heads; dense
// or a mixture (Granite Team, IBM 2025).

#include <utility>

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {
namespace {

Result<Mamba2> ReadMamba2(const Keys& keys, const Network& network) {
  Mamba2 mamba = {.width = network.width, .norm_epsilon = network.head.norm.epsilon};
  ASSIGN_OR_RETURN(mamba.heads, keys.Size("ssm.time_step_rank"));
  ASSIGN_OR_RETURN(mamba.state_dim, keys.Size("ssm.state_size"));
  ASSIGN_OR_RETURN(mamba.groups, keys.Size("ssm.group_count"));
  ASSIGN_OR_RETURN(mamba.taps, keys.Size("ssm.conv_kernel"));
  ASSIGN_OR_RETURN(const int64_t inner, keys.Size("ssm.inner_size"));
  // Before it divides.
  RETURN_IF_ERROR(InRange(keys.Spelled("ssm.time_step_rank"), mamba.heads, 1, kMaxHeads));
  if (inner % mamba.heads != 0) {
    return Status(ErrorCode::kBadModel, keys.Spelled("ssm.inner_size") + " is " +
                                            std::to_string(inner) + ", expected a multiple of " +
                                            std::to_string(mamba.heads) + " heads");
  }
  mamba.head_dim = inner / mamba.heads;
  return mamba;
}

}  // namespace

Result<Network> GraniteHybrid(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  ASSIGN_OR_RETURN(const Mamba2 mamba, ReadMamba2(keys, network));
  for (Layer& layer : network.layers) {
    if (std::get<Gqa>(layer.mixer).kv_heads == 0) layer.mixer = mamba;
  }
  RETURN_IF_ERROR(ReadMixtureOrGated(keys, {.width_key = "feed_forward_length"}, &network));
  RETURN_IF_ERROR(ReadGraniteFactors(keys, &network));
  return network;
}

}  // namespace skald::model
