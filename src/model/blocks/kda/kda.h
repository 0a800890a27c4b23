/// Kda: Kimi delta attention (Kimi Team 2025), linear attention by a gated delta rule in which each
/// element of the keys decays by itself: the mixer of most layers of Kimi Linear.
///
///     q, k, v = silu(conv(Q * h)), silu(conv(K * h)), silu(conv(V * h))
///     decay = exp(A softplus(F2 * (F1 * h) + bias));  o = delta rule(l2(q), l2(k), v, decay, beta)
///     O * (norm(o) . sigmoid(G2 * (G1 * h)))
///
/// Between steps a sequence carries, for each head, a matrix of head_dim x head_dim, and the last
/// taps - 1 rows of Q * h, K * h and V * h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"
#include "model/rank.h"
#include "model/rope_table.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Queries, keys or values: where they come from.
struct KdaInput {
  kernels::PackedMatrix matrix = {};  ///< [inner][width]
  std::vector<float> taps = {};       ///< [inner][taps]
};

/// A product of two small matrices.
struct KdaGate {
  kernels::PackedMatrix down = {};  ///< [head_dim][width]
  kernels::PackedMatrix up = {};    ///< [inner][head_dim]
};

/// Sizes are in elements.
struct Kda {
  int64_t width = 0;     ///< of the residual stream
  int64_t heads = 0;     ///< of this rank
  int64_t head_dim = 0;  ///< of queries, keys and values
  int64_t taps = 0;      ///< of the convolutions
  float norm_epsilon = 0;
  RowPart head_rows = {};    ///< of the heads, those of this rank
  RowPart output_rows = {};  ///< of the output matrix

  KdaInput query = {}, key = {}, value = {};
  KdaGate decay = {};
  KdaGate output_gate = {};
  kernels::PackedMatrix beta = {};     ///< [heads][width]
  kernels::PackedMatrix output = {};   ///< [width][inner]
  std::vector<float> decay_bias = {};  ///< [inner]
  std::vector<float> decay_rate = {};  ///< [heads], below 0
  std::vector<float> norm = {};        ///< [head_dim]

  int64_t inner() const { return heads * head_dim; }
  int64_t head_floats() const { return head_dim * head_dim; }

  /// Of the heads of all ranks, of `size` elements each, those of this one.
  RowPart HeadPart(int64_t size) const { return Times(PartOf(head_rows, heads), size); }
  RowPart OutputPart() const { return PartOf(output_rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const Kda&) { return "Kimi delta attention"; }

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Kda& kda, std::span<const Rope> ropes);

/// Leaves a rank its heads, with their states; the first matrices of the gates, a hundredth of the
/// weights, stand in every rank. Errors: kUnsupported for more ranks than heads.
Status Split(const Rank& rank, Kda& kda);

/// Its tensors.
void Declare(Kda& kda, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Kda& kda, const StepLimits& limits);

/// What it keeps of every position: nothing.
kv::KvShape Cache(const Kda& kda);

/// Floats that it carries from row to row.
int64_t StateFloats(const Kda& kda);

/// As Gqa's. The states of all sequences of the step are those behind their last rows afterwards.
void Run(const Kda& kda, const Input& input, const MixerStep& step, const Context& context);

/// Counts what Run does.
void AddWork(const Kda& kda, const MixerShape& shape, StepWork& work);

}  // namespace skald::model
