// Jina Embeddings 2 (Guenther et al. 2023): BERT's network with ALiBi to both sides in place of
// positions, and gated feed-forwards.

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/encoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> JinaBertV2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadBert(keys));
  RETURN_IF_ERROR(ReadGeluGated(keys, &network));
  constexpr std::string_view kKey = "attention.max_alibi_bias";
  ASSIGN_OR_RETURN(const double steepest, keys.NumberOr(kKey, 8));
  RETURN_IF_ERROR(Positive(keys.Spelled(kKey), steepest));
  for (Layer& layer : network.layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    RETURN_IF_ERROR(InRange(keys.Spelled("attention.head_count"), gqa.heads, 1, kMaxHeads));
    gqa.rope.reset();
    gqa.slopes = AlibiSlopes(gqa.heads, steepest);
  }
  network.ropes.clear();
  return network;
}

}  // namespace skald::model
