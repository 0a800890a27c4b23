/// Norm: what stands before or behind a block of the residual stream (numerics 3.1, 3.11).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

enum class NormKind : uint8_t {
  kNone,   ///< nothing stands there
  kRms,    ///< RMSNorm
  kLayer,  ///< LayerNorm; with a bias where the file has one
};

struct Norm {
  NormKind kind = NormKind::kRms;
  /// Of its tensors, before ".weight" and ".bias", where a family does not call it as most do.
  std::string_view name = {};
  std::string_view weight_suffix = ".weight";  ///< of the name, where a family leaves it out: ""
  float epsilon = 0;
  std::vector<float> weight = {};
  std::vector<float> bias = {};

  bool exists() const { return kind != NormKind::kNone; }
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Norm& norm);

/// Its tensors, of `width` elements.
void Declare(Norm& norm, std::string_view usual_name, int64_t width, TensorList& tensors);

/// Rows of `n` elements to norm; y may be x.
struct NormRows {
  const float* x;
  int64_t x_stride;
  float* y;
  int64_t y_stride;
  int64_t rows;
  int64_t n;
};

/// Norms the rows. Requires a norm that exists.
void Normalize(const Norm& norm, const NormRows& rows, const kernels::KernelTable& kernels);

}  // namespace skald::model
