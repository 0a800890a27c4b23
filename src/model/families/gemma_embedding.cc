// EmbeddingGemma (Google 2025): Gemma 3 without a mask, and two matrices behind the final norm.

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"
#include "model/families/encoder.h"
#include "model/families/families.h"
#include "model/families/gemma.h"

namespace skald::model {
namespace {

// A size that the network or the matrix before fixes.
Status Expect(const Keys& keys, std::string_view name, int64_t expected) {
  ASSIGN_OR_RETURN(const int64_t found, keys.Size(name));
  return InRange(keys.Spelled(name), found, expected, expected);
}

Status ReadProjection(const Keys& keys, Network* network) {
  if (!keys.ContainsTensor("dense_2.weight") && !keys.ContainsTensor("dense_3.weight")) return Ok();
  HiddenProjection& projection = network->hidden_projection;
  projection.width = network->width;
  ASSIGN_OR_RETURN(projection.inner, keys.Size("dense_2_feat_out"));
  ASSIGN_OR_RETURN(projection.output, keys.Size("dense_3_feat_out"));
  RETURN_IF_ERROR(InRange(keys.Spelled("dense_2_feat_out"), projection.inner, 1, kMaxWidth));
  RETURN_IF_ERROR(Expect(keys, "dense_2_feat_in", network->width));
  return Expect(keys, "dense_3_feat_in", projection.inner);
}

}  // namespace

Result<Network> GemmaEmbedding(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadGemma(keys));
  RETURN_IF_ERROR(SeeBothWays(keys, &network));
  RETURN_IF_ERROR(AddNearRope(keys, &network));
  RETURN_IF_ERROR(ReadGemma3Layers(keys, 6, &network).status());
  RETURN_IF_ERROR(ReadProjection(keys, &network));
  return network;
}

}  // namespace skald::model
