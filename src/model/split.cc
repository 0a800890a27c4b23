#include "model/split.h"

#include <string>
#include <utility>
#include <variant>

#include "base/status_macros.h"

namespace skald::model {
namespace {

// Blocks that are not split yet.
Status Split(const Rank&, Mla&) { return NotSplit("latent attention"); }
Status Split(const Rank&, ShortConv&) { return NotSplit("short convolutions"); }
Status Split(const Rank&, DeltaNet&) { return NotSplit("gated delta rules"); }
Status Split(const Rank&, Kda&) { return NotSplit("Kimi delta attention"); }
Status Split(const Rank&, Mamba2&) { return NotSplit("state spaces"); }
Status Split(const Rank&, None&) { return Ok(); }

Status SplitLayer(const Rank& rank, Layer& layer) {
  if (Exists(layer.beside)) return NotSplit("layers of two mixers");
  if (layer.input || layer.laurel || layer.alt_up) {
    return NotSplit("inputs of layers and streams");
  }
  RETURN_IF_ERROR(std::visit([&](auto& mixer) { return Split(rank, mixer); }, layer.mixer));
  return std::visit([&](auto& block) { return Split(rank, block); }, layer.feed_forward);
}

}  // namespace

Status Split(const Rank& rank, Network* network) {
  for (size_t i = 0; i < network->layers.size(); ++i) {
    Status status = SplitLayer(rank, network->layers[i]);
    if (!status.ok()) return std::move(status).WithContext("layer " + std::to_string(i));
  }
  network->head.rows = PanelsOf(network->vocab, rank);
  return Ok();
}

}  // namespace skald::model
