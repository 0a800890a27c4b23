/// Paper: the tensors that a network would have in a file, for models of which there is none here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_directory.h"
#include "model/network.h"
#include "skald/status.h"
#include "tensor/dtype.h"

namespace skald::plan {

/// The types that a model was published in. What is no matrix (norms, biases, taps) is F32.
struct PaperTypes {
  tensor::DType matrices = tensor::DType::kBF16;
  std::optional<tensor::DType> experts = {};  ///< of a mixture, where they differ
  bool is_tied = false;                       ///< the head is the embedding again
};

/// The tensors that a file of `network` must have, and its head, if it has one, one behind the
/// other. Errors: kBadModel for sizes that are no file's.
Result<formats::TensorDirectory> PaperTensors(model::Network& network, const PaperTypes& types);

/// Tensors of one element that are called so: for families that ask which ones a file has.
Result<formats::TensorDirectory> NamedTensors(const std::vector<std::string>& names);

/// The same tensors in the types of `weights`, one of WeightChoices(). Errors: kInvalidArgument
/// with the choices.
Result<formats::TensorDirectory> InOtherTypes(const formats::TensorDirectory& tensors,
                                              std::string_view weights);

}  // namespace skald::plan
