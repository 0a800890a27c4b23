#include "model/families/delta_hybrid.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"

namespace skald::model {
namespace {

// The last of every so many layers is attention, or a flag for each layer says so.
Result<std::vector<bool>> ReadRecurrentLayers(const Keys& keys, int64_t layers) {
  constexpr std::string_view kFlags = "attention.recurrent_layers";
  constexpr std::string_view kInterval = "full_attention_interval";
  std::vector<bool> recurrent;
  if (keys.Contains(kFlags)) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> flags, keys.LayerSizes(kFlags, layers));
    recurrent.assign(flags.begin(), flags.end());
    return recurrent;
  }
  ASSIGN_OR_RETURN(const int64_t interval, keys.SizeOr(kInterval, 4));
  RETURN_IF_ERROR(InRange(keys.Spelled(kInterval), interval, 1, kMaxLayers));
  for (int64_t i = 0; i < layers; ++i) recurrent.push_back((i + 1) % interval != 0);
  return recurrent;
}

Result<DeltaNet> ReadDeltaNet(const Keys& keys, const Network& network) {
  DeltaNet net = {.width = network.width, .norm_epsilon = network.head.norm.epsilon};
  ASSIGN_OR_RETURN(net.key_heads, keys.Size("ssm.group_count"));
  ASSIGN_OR_RETURN(net.value_heads, keys.Size("ssm.time_step_rank"));
  ASSIGN_OR_RETURN(net.key_dim, keys.Size("ssm.state_size"));
  ASSIGN_OR_RETURN(net.taps, keys.Size("ssm.conv_kernel"));
  net.value_dim = net.key_dim;
  // Before they are multiplied.
  RETURN_IF_ERROR(InRange(keys.Spelled("ssm.time_step_rank"), net.value_heads, 1, kMaxHeads));
  RETURN_IF_ERROR(InRange(keys.Spelled("ssm.state_size"), net.key_dim, 1, kMaxHeadDim));
  ASSIGN_OR_RETURN(const int64_t inner, keys.Size("ssm.inner_size"));
  RETURN_IF_ERROR(
      InRange(keys.Spelled("ssm.inner_size"), inner, net.value_width(), net.value_width()));
  return net;
}

}  // namespace

Result<Network> ReadDeltaHybrid(const Keys& keys, const DeltaHybridFamily& family) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  ASSIGN_OR_RETURN(DeltaNet net, ReadDeltaNet(keys, network));
  net.order = family.order;
  net.gates = family.gates;
  const auto layers = static_cast<int64_t>(network.layers.size());
  ASSIGN_OR_RETURN(const std::vector<bool> recurrent, ReadRecurrentLayers(keys, layers));
  for (size_t i = 0; i < network.layers.size(); ++i) {
    Layer& layer = network.layers[i];
    layer.feed_forward_norm.name = "post_attention_norm";
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.head_norm = HeadNorm::kRms;
    gqa.output_gate = OutputGate::kSigmoid;
    if (recurrent[i]) layer.mixer = net;
  }
  return network;
}

}  // namespace skald::model
