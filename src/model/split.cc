#include "model/split.h"

#include <string>
#include <utility>
#include <variant>

#include "base/status_macros.h"

namespace skald::model {
namespace {

Status Split(const Rank&, None&) { return Ok(); }

Status SplitLayer(const Rank& rank, Layer& layer) {
  if (layer.laurel) Split(rank, *layer.laurel);
  if (layer.input) Split(rank, *layer.input);
  for (Mixer* place : {&layer.mixer, &layer.beside}) {
    RETURN_IF_ERROR(std::visit([&](auto& mixer) { return Split(rank, mixer); }, *place));
  }
  return std::visit([&](auto& block) { return Split(rank, block); }, layer.feed_forward);
}

}  // namespace

Status Split(const Rank& rank, Network* network) {
  for (size_t i = 0; i < network->layers.size(); ++i) {
    Status status = SplitLayer(rank, network->layers[i]);
    if (!status.ok()) return std::move(status).WithContext("layer " + std::to_string(i));
  }
  Split(rank, network->layer_inputs);
  Split(rank, network->streams);
  network->head.rows = PanelsOf(network->vocab, rank);
  return Ok();
}

}  // namespace skald::model
