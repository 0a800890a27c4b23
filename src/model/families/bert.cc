// BERT (Devlin et al. 2019) and what was trained from it to embed texts: BGE, E5, GTE, MiniLM,
// BGE-M3 (XLM-RoBERTa).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/encoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Bert(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadBert(keys));
  RETURN_IF_ERROR(ReadPlain(keys, &network));
  network.positions = Positions::kLearned;
  for (Layer& layer : network.layers) {
    std::get<Gqa>(layer.mixer).rope.reset();
    std::get<Plain>(layer.feed_forward).function = GeluOf(keys);
  }
  network.ropes.clear();
  return network;
}

}  // namespace skald::model
