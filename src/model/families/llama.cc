// Llama 1 to 3, Mistral, TinyLlama, SmolLM: the plain network. GGUF converters permute Q and K so
// that adjacent elements are rotated together (Touvron et al. 2023).

#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Llama(const Keys& keys) {
  return ReadDecoder(keys, kernels::RopePairing::kAdjacent);
}

}  // namespace skald::model
