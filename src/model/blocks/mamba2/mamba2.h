/// Mamba2: a selective state space with one decay a head (Dao & Gu 2024), the mixer of most layers
/// of Granite 4.0 H.
///
///     [z, x, B, C, dt] = I * h;  [x, B, C] = silu(conv([x, B, C]));  y = scan(x, B, C, dt)
///     O * norm of groups(silu(z) . y)      (in some models without the norm)
///
/// Between steps a sequence carries, for each head, a matrix of state_dim x head_dim, and the last
/// taps - 1 rows of [x, B, C].
#pragma once

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

/// Whether the gated heads are normed, each group by itself (RMSNorm).
enum class GroupNorm : uint8_t { kNone, kRms };

/// Sizes are in elements.
struct Mamba2 {
  int64_t width = 0;      ///< of the residual stream
  int64_t heads = 0;      ///< of this rank
  int64_t head_dim = 0;   ///< elements of a head
  int64_t state_dim = 0;  ///< of B and C
  int64_t groups = 0;     ///< of heads that share B and C; divides heads
  int64_t taps = 0;       ///< of the convolution
  GroupNorm group_norm = GroupNorm::kRms;
  float norm_epsilon = 0;
  HeadShare share = {};      ///< of the heads and groups, those of this rank
  RowPart output_rows = {};  ///< of the output matrix

  kernels::PackedMatrix input = {};    ///< [2 * inner + 2 * groups * state_dim + heads][width]
  kernels::PackedMatrix output = {};   ///< [width][inner]
  std::vector<float> weights = {};     ///< [channels][taps]
  std::vector<float> conv_bias = {};   ///< [channels]
  std::vector<float> step_bias = {};   ///< [heads]
  std::vector<float> decay_rate = {};  ///< [heads], below 0
  std::vector<float> skip = {};        ///< [heads]
  std::vector<float> norm = {};        ///< [groups][inner / groups] of all ranks, or empty

  int64_t inner() const { return heads * head_dim; }
  int64_t channels() const { return inner() + 2 * groups * state_dim; }
  int64_t input_rows() const { return inner() + channels() + heads; }
  int64_t head_floats() const { return state_dim * head_dim; }

  /// Of the heads and groups of all ranks, of `size` elements each, those of this one.
  RowPart HeadPart(int64_t size) const { return Times(PartOf(share.heads, heads), size); }
  RowPart GroupPart(int64_t size) const { return Times(PartOf(share.groups, groups), size); }
  RowPart OutputPart() const { return PartOf(output_rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const Mamba2&) { return "Mamba 2"; }

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Mamba2& mamba, std::span<const Rope> ropes);

/// Leaves a rank its groups with their heads, or where there are more ranks than groups, some of
/// the heads of one; and their states. Errors: kUnsupported for more ranks than heads.
Status Split(const Rank& rank, Mamba2& mamba);

/// Its tensors.
void Declare(Mamba2& mamba, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Mamba2& mamba, const StepLimits& limits);

/// What it keeps of every position: nothing.
kv::KvShape Cache(const Mamba2& mamba);

/// Floats that it carries from row to row.
int64_t StateFloats(const Mamba2& mamba);

/// As Gqa's. The states of all sequences of the step are those behind their last rows afterwards.
void Run(const Mamba2& mamba, const Input& input, const MixerStep& step, const Context& context);

/// Counts what Run does.
void AddWork(const Mamba2& mamba, const MixerShape& shape, StepWork& work);

}  // namespace skald::model
