// Llama 1 to 3, Mistral, TinyLlama, SmolLM: the plain network. GGUF converters permute Q and K so
// that adjacent elements are rotated together (Touvron et al. 2023). Mixtral has the same name, and
// experts of the width that others have once (Jiang et al. 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Llama(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadMixtureOrGated(keys, {.width_key = "feed_forward_length"}, &network));
  return network;
}

}  // namespace skald::model
