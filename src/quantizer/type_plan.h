/// TypePlan: which type each tensor of a model gets.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/tensor_directory.h"
#include "tensor/dtype.h"

namespace skald::quantizer {

/// One of the mixtures that `skald quantize` makes.
struct Mixture {
  std::string_view name;
  uint32_t file_type;    ///< general.file_type in the new file (llama_ftype)
  tensor::DType bulk;    ///< of most matrices
  tensor::DType finer;   ///< of attn_v and ffn_down in the layers that MoreBits names
  tensor::DType fused;   ///< of attn_qkv, of which attn_v is a part
  tensor::DType output;  ///< of the output, or of the embedding that is in its place
};

/// All of them, in the order in which they are listed.
std::span<const Mixture> Mixtures();

/// The first and the last eighth of the layers and every third between: where an error of attn_v
/// and ffn_down does the most harm, by the measurements behind llama.cpp's mixtures.
bool MoreBits(int64_t layer, int64_t layers);

struct PlannedTensor {
  const formats::TensorInfo* source;
  tensor::DType dtype;   ///< in the new file; of a copied tensor that of the source
  bool widened = false;  ///< rows are no multiple of the block of the type that was meant
};

/// The tensors in the order of the file. Vectors, and matrices that are small or whose rounding
/// changes decisions (norms, routers, taps of convolutions, position tables), are copied.
std::vector<PlannedTensor> PlanTypes(const formats::TensorDirectory& tensors,
                                     const Mixture& mixture);

}  // namespace skald::quantizer
