/// Linear layers: rows of a step times one or several weight matrices that share their input.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/pack/panel.h"
#include "model/execution.h"
#include "model/workspace.h"

namespace skald::model {

/// One matrix and where its product goes: out.row(m)[n] = sum over k of weights[n][k] *
/// input[m][k], n up to padded_rows().
struct Product {
  const kernels::PackedMatrix* weights = nullptr;
  Workspace::Rows out;
};

/// Input of a linear layer, with an optional sum and an optional RMSNorm on the way in.
struct LinearInput {
  Workspace::Rows rows;  ///< [row_count][cols]
  int64_t row_count = 0;
  /// Added to `rows` first, where they stand: what the block before gives to the residual stream
  /// (numerics 3.4). Without data: nothing.
  Workspace::Rows addend = {};
  const float* norm = nullptr;  ///< weight of the norm, or nullptr for none
  float epsilon = 0;
  Workspace::Rows normed = {};  ///< where the normed rows go; unused without a norm
  Phase phase;                  ///< role of the products, for the profile
};

/// Computes all products of one input (numerics 3.1, 3.5, 3.6): adds to the rows, norms them,
/// prepares them once in each activation format that a matrix needs, and multiplies. All matrices
/// have the same number of columns. Two barriers; for up to 16 rows one.
void Linear(const LinearInput& input, std::span<const Product> products, const Workspace& workspace,
            const Execution& execution);

/// Linear of two matrices with the same rows, and gate.out = SwiGLU(gate.out, up.out) (numerics
/// 3.3) while both are in the cache. `up.out` holds nothing of use afterwards.
void GatedLinear(const LinearInput& input, const Product& gate, const Product& up,
                 const Workspace& workspace, const Execution& execution);

}  // namespace skald::model
