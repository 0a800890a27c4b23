/// Plain: a feed-forward without a gate (Vaswani et al. 2017), with optional biases.
///
///     down * f(up * h)
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/rank.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// What stands between its matrices (numerics 3.3).
enum class Activation : uint8_t { kGelu, kGeluErf, kReluSquared };

/// Sizes are in elements.
struct Plain {
  int64_t width = 0;   ///< of the residual stream
  int64_t hidden = 0;  ///< of up
  Activation function = Activation::kGelu;
  RowPart hidden_rows = {}, output_rows = {};  ///< of up and of down: those of a rank

  kernels::PackedMatrix up = {}, down = {};
  std::vector<float> up_bias = {}, down_bias = {};

  RowPart HiddenPart() const { return PartOf(hidden_rows, hidden); }
  RowPart OutputPart() const { return PartOf(output_rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const Plain&) { return "feed-forward"; }

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Plain& plain);

/// Leaves a rank its rows.
Status Split(const Rank& rank, Plain& plain);

/// Its tensors.
void Declare(Plain& plain, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Plain& plain, const StepLimits& limits);

/// Computes the block for the rows of `input` into workspace.projected.
void Run(const Plain& plain, const Input& input, const Context& context);

/// Counts what Run does for `rows` rows.
void AddWork(const Plain& plain, int64_t rows, StepWork& work);

/// The product of some panels of up, and in its place what the function makes of it, while it is in
/// the cache.
void MultiplyPanelsPlain(const Product& up, Activation function, const PanelRange& panels,
                         const RowRange& rows, const Context& context);

}  // namespace skald::model
