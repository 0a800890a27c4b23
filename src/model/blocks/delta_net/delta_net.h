/// DeltaNet: linear attention by the gated delta rule (Yang et al. 2024), the mixer of most layers
/// of Qwen3-Next and Qwen3.5.
///
///     [q, k, v] = silu(conv(QKV * h));  o = delta rule(l2(q), l2(k), v, decay, beta)
///     O * (norm(o) . silu(Z * h))
///
/// Between steps a sequence carries, for each value head, a matrix of key_dim x value_dim, and the
/// last taps - 1 rows of QKV * h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/gathered.h"
#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"
#include "model/rank.h"
#include "model/rope_table.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Which key head a value head has, where there are fewer.
enum class KeyHeadOrder : uint8_t {
  kModulo,      ///< value head h has key head h mod key_heads
  kNeighbours,  ///< value heads that stand together share one
};

/// Sizes are in elements.
struct DeltaNet {
  int64_t width = 0;      ///< of the residual stream
  int64_t key_heads = 0;  ///< divides value_heads; both of this rank
  int64_t value_heads = 0;
  int64_t key_dim = 0;    ///< elements of a query and key head
  int64_t value_dim = 0;  ///< elements of a value head
  int64_t taps = 0;       ///< of the convolution
  KeyHeadOrder order = KeyHeadOrder::kModulo;
  /// Of queries, keys, values and z. Fused, the tensor has for each key head the rows of its query
  /// and its key, then those of the values and of the z of its value heads.
  Fusion projections = Fusion::kSeparate;
  /// Of the gates. Fused, the tensor has for each key head the rows of beta, then those of the
  /// decay.
  Fusion gates = Fusion::kSeparate;
  float norm_epsilon = 0;
  HeadShare share = {};      ///< of value heads, as if neighbours shared a key head; of key heads
  RowPart output_rows = {};  ///< of the output matrix, those of this rank

  kernels::PackedMatrix qkv = {};      ///< [channels][width]; if fused with those of z
  kernels::PackedMatrix z = {};        ///< [value_width][width], if separate
  kernels::PackedMatrix decay = {};    ///< [value_heads][width], if separate
  kernels::PackedMatrix beta = {};     ///< [value_heads][width]; [2 * value_heads] if fused
  kernels::PackedMatrix output = {};   ///< [width][value_width]
  std::vector<float> weights = {};     ///< [channels][taps]
  std::vector<float> decay_bias = {};  ///< [value_heads]
  std::vector<float> decay_rate = {};  ///< [value_heads], below 0
  std::vector<float> norm = {};        ///< [value_dim]

  int64_t key_width() const { return key_heads * key_dim; }
  int64_t value_width() const { return value_heads * value_dim; }
  int64_t channels() const { return 2 * key_width() + value_width(); }
  int64_t head_floats() const { return key_dim * value_dim; }

  /// Of the key heads of all ranks, of `size` elements each, those of this one.
  RowPart KeyPart(int64_t size) const { return Times(PartOf(share.groups, key_heads), size); }
  int64_t all_value_heads() const { return PartOf(share.heads, value_heads).all_rows; }
  /// Of the value heads of a key head, those that this rank has of each of its own.
  RowPart GroupPart() const;
  /// Where its value heads stand among those of all, each of `size` elements.
  ColumnRuns ValueRuns(int64_t size) const;
  RowPart OutputPart() const { return PartOf(output_rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const DeltaNet&) { return "gated delta net"; }

/// Checks the numbers. Errors: kBadModel.
Status Validate(const DeltaNet& net, std::span<const Rope> ropes);

/// Leaves a rank its key heads with the value heads that have them, or where there are more ranks
/// than key heads, some of the value heads of one; and their states. Errors: kUnsupported for more
/// ranks than value heads.
Status Split(const Rank& rank, DeltaNet& net);

/// Its tensors.
void Declare(DeltaNet& net, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const DeltaNet& net, const StepLimits& limits);

/// What it keeps of every position: nothing.
kv::KvShape Cache(const DeltaNet& net);

/// Floats that it carries from row to row.
int64_t StateFloats(const DeltaNet& net);

/// As Gqa's. The states of all sequences of the step are those behind their last rows afterwards.
void Run(const DeltaNet& net, const Input& input, const MixerStep& step, const Context& context);

/// Counts what Run does.
void AddWork(const DeltaNet& net, const MixerShape& shape, StepWork& work);

}  // namespace skald::model
