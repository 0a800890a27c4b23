/// RankHead: the score of a pair of texts, out of the hidden state that stands for the pair (a
/// cross-encoder; Nogueira and Cho 2019). Numerics 3.22.
///
///     h = norm(function(dense * state + bias))       where the model has a dense layer
///     score = output * h + bias                      of two answers: yes less no
///
/// A decoder that was trained to answer yes or no (Qwen3-Reranker; Zhang et al. 2025) has two
/// outputs. Its probability of yes among the two is the sigmoid of their difference: so every score
/// is the logit of a relevance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/norm.h"
#include "model/tensors.h"
#include "skald/ids.h"
#include "skald/status.h"

namespace skald::model {

/// What a dense layer's products go through.
enum class RankFunction : uint8_t { kTanh, kGelu, kGeluErf };

/// Sizes are in elements.
struct RankHead {
  int64_t width = 0;    ///< of the hidden state
  int64_t outputs = 0;  ///< 1, or 2: yes, no; 0: there is no head
  /// What stands for the pair: the state of its first or its last token, or the mean of all.
  Pooling pooling = Pooling::kFirst;
  std::optional<RankFunction> function = {};  ///< nothing: there is no dense layer
  Norm norm = {.kind = NormKind::kNone};      ///< behind the function
  std::string_view output_name = "cls.output";

  kernels::PackedMatrix dense = {}, output = {};
  std::vector<float> dense_bias = {}, output_bias = {};  ///< or empty

  bool exists() const { return outputs > 0; }
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const RankHead& head);

/// Its tensors.
void Declare(RankHead& head, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const RankHead& head, const StepLimits& limits);

/// The score of a pair whose states were pooled to `state`. Requires that the head exists. Writes
/// workspace.block, nothing else of it that lasts: the outputs of a step stay.
float Score(const RankHead& head, std::span<const float> state, const Context& context);

}  // namespace skald::model
