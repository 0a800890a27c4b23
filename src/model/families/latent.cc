#include "model/families/latent.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"

namespace skald::model {
namespace {

// Whether any layer has it.
bool HasTensor(const Keys& keys, const Network& network, const std::string& name) {
  for (size_t i = 0; i < network.layers.size(); ++i) {
    if (keys.ContainsTensor("blk." + std::to_string(i) + "." + name)) return true;
  }
  return false;
}

// Files of today say how long heads are under names of their own, since the usual ones give what is
// kept of a position; older ones, which have K_h and V_h in one tensor, use the usual names.
Result<int64_t> HeadLength(const Keys& keys, Fusion key_value, const std::string& name) {
  const std::string of_head = name + "_mla";
  if (key_value == Fusion::kFused && !keys.Contains(of_head)) return keys.Size(name);
  return keys.Size(of_head);
}

Status ReadLengths(const Keys& keys, Mla* mla) {
  const std::string rank = "attention.kv_lora_rank";
  ASSIGN_OR_RETURN(mla->rank, keys.Size(rank));
  RETURN_IF_ERROR(InRange(keys.Spelled(rank), mla->rank, 1, kMaxHeadDim));
  ASSIGN_OR_RETURN(mla->query_rank, keys.SizeOr("attention.q_lora_rank", 0));
  ASSIGN_OR_RETURN(const int64_t key_dim, HeadLength(keys, mla->key_value, "attention.key_length"));
  ASSIGN_OR_RETURN(mla->value_dim, HeadLength(keys, mla->key_value, "attention.value_length"));
  const std::string turned = "rope.dimension_count";
  ASSIGN_OR_RETURN(mla->rope_dim, keys.Size(turned));
  RETURN_IF_ERROR(InRange(keys.Spelled(turned), mla->rope_dim, 1, key_dim - 1));
  mla->nope_dim = key_dim - mla->rope_dim;
  return Ok();
}

// The published code gives these two norms no epsilon: theirs is its default.
float LatentEpsilon(const Keys& keys, const Network& network) {
  return keys.conventions() == Conventions::kPublisher ? 1e-6f : network.head.norm.epsilon;
}

Status ReadTemperature(const Keys& keys, const Network& network, Mla* mla) {
  ASSIGN_OR_RETURN(mla->temperature.scale, keys.NumberOr("attention.temperature_scale", 0));
  if (mla->temperature.scale == 0) return Ok();
  ASSIGN_OR_RETURN(mla->temperature.length,
                   keys.SizeOr("attention.temperature_length", network.ropes[0].original_context));
  return Ok();
}

// Sets the magnitude of cosine and sine, and returns what multiplies the scores with it.
Result<double> ReadMagnitudes(const Keys& keys, LatentMagnitude magnitude, Rope* rope) {
  RETURN_IF_ERROR(Validate(*rope));  // its numbers are used below
  if (rope->scaling != RopeScaling::kYarn) return 1;
  const std::string name = "rope.scaling.yarn_log_multiplier";
  ASSIGN_OR_RETURN(const double stored, keys.NumberOr(name, 0));
  RETURN_IF_ERROR(NotNegative(keys.Spelled(name), stored));
  // Files hold a tenth of it. Without one both magnitudes are the usual one.
  const double of_scores = YarnMagnitude(rope->factor, stored / 0.1);
  const double turned =
      magnitude == LatentMagnitude::kSame && stored != 0 ? of_scores : YarnMagnitude(rope->factor);
  RETURN_IF_ERROR(Positive("YaRN's magnitude", of_scores));
  rope->magnitude = turned / of_scores;
  return turned * turned;
}

}  // namespace

Result<Mla> ReadLatentAttention(const Keys& keys, LatentMagnitude magnitude, Network* network) {
  const bool fused = HasTensor(keys, *network, "attn_kv_b.weight");
  Mla mla = {.width = network->width, .key_value = fused ? Fusion::kFused : Fusion::kSeparate};
  RETURN_IF_ERROR(ReadLengths(keys, &mla));
  mla.query_norm.epsilon = mla.latent_norm.epsilon = LatentEpsilon(keys, *network);
  RETURN_IF_ERROR(ReadTemperature(keys, *network, &mla));
  ASSIGN_OR_RETURN(double factor, ReadMagnitudes(keys, magnitude, &network->ropes[0]));
  // Mistral's models are trained without YaRN's factor of the scores, whatever multiplier the file
  // has; of those with latent attention only they let queries grow.
  const bool publisher = keys.conventions() == Conventions::kPublisher;
  if (publisher && mla.temperature.scale != 0) factor = 1;
  mla.scale =
      static_cast<float>(factor / std::sqrt(static_cast<double>(mla.nope_dim + mla.rope_dim)));
  return mla;
}

Result<Network> ReadLatentDecoder(const Keys& keys, LatentMagnitude magnitude) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  ASSIGN_OR_RETURN(Mla mla, ReadLatentAttention(keys, magnitude, &network));
  for (Layer& layer : network.layers) {
    mla.heads = std::get<Gqa>(layer.mixer).heads;
    layer.mixer = mla;
  }
  return network;
}

}  // namespace skald::model
