/// Gated: SwiGLU or GeGLU feed-forward (Shazeer 2020).
///
///     down * (silu(gate * h) . (up * h))
///
/// down may have a bias.
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

/// What makes a gate of its product (numerics 3.3).
enum class Gate : uint8_t { kSilu, kGelu, kGeluErf, kClampedSilu };

/// What the deviation of a row's gates is divided by.
enum class Spread : uint8_t { kOfAll, kOfOneLess };

/// Sizes are in elements.
struct Gated {
  int64_t width = 0;   ///< of the residual stream
  int64_t hidden = 0;  ///< of gate and up
  Gate function = Gate::kSilu;
  float limit = 0;  ///< of what the gates are, above, and of up, above and below; 0 = none
  Fusion fusion = Fusion::kSeparate;  ///< of gate and up: gate above
  /// Of the gates' products only what is so many deviations of its row above their mean goes on
  /// (numerics 3.3); 0: all.
  float sparsity = 0;
  Spread spread = Spread::kOfAll;
  RowPart hidden_rows = {}, output_rows = {};  ///< of gate and up, and of down: those of a rank

  kernels::PackedMatrix gate = {}, up = {}, down = {};
  std::vector<float> down_bias = {};

  RowPart HiddenPart() const { return PartOf(hidden_rows, hidden); }
  RowPart OutputPart() const { return PartOf(output_rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const Gated&) { return "gated feed-forward"; }

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Gated& gated);

/// Leaves a rank its rows. Errors: none.
Status Split(const Rank& rank, Gated& gated);

/// Its tensors.
void Declare(Gated& gated, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Gated& gated, const StepLimits& limits);

/// Computes the block for the rows of `input` into workspace.projected.
void Run(const Gated& gated, const Input& input, const Context& context);

/// Counts what Run does for `rows` rows.
void AddWork(const Gated& gated, int64_t rows, StepWork& work);

/// Gate and up, and how they are joined.
struct GatedProducts {
  Product gate;
  Product up;
  Gate function = Gate::kSilu;
  float limit = 0;  ///< as Gated's
};

/// The products of some panels of gate and up, and in gate.out what becomes of both (numerics 3.3)
/// while they are in the cache. `up.out` holds nothing of use afterwards.
void MultiplyPanelsGated(const GatedProducts& products, const PanelRange& panels,
                         const RowRange& rows, const Context& context);

}  // namespace skald::model
