/// Gqa: self-attention over paged K and V, with as many KV heads as query heads (MHA), fewer (GQA)
/// or one (MQA).
///
///     O * attention(rope(norm(Q * h)), rope(norm(K * h)), V * h)
///
/// Each product may have a bias, and the heads a gate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/attention.h"
#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"
#include "model/rank.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// What is normed of queries and keys.
enum class HeadNorm : uint8_t {
  kNone,
  kRms,               ///< each head by itself (RMSNorm), one weight for all heads
  kRmsOfRow,          ///< all heads of a row as one (RMSNorm)
  kRmsWithoutWeight,  ///< each head by itself
  kLayerOfEachHead,   ///< each head by itself (LayerNorm), with a weight of its own
};

/// When.
enum class HeadNormPlace : uint8_t { kBeforeRope, kBehindRope };

/// Whether the softmax of each query head has a sink: a score without a position (numerics 3.7).
enum class Sinks : uint8_t { kNone, kOnePerHead };

/// What multiplies the heads before the output matrix.
enum class OutputGate : uint8_t {
  kNone,
  kSigmoid,  ///< the sigmoid of as many rows of Q's tensor, behind each head's (numerics 3.15)
  kSigmoidOfMatrix,  ///< that of a matrix with a row for each element
  kSigmoidOfHeads,   ///< that of a matrix with a row for each head
};

/// Where values come from.
enum class ValueSource : uint8_t {
  kMatrix,  ///< their own product
  kKeys,    ///< the keys' product, before it is normed and turned
};

/// What is normed of values.
enum class ValueNorm : uint8_t {
  kNone,
  kRms,  ///< each head by itself (RMSNorm), without a weight
};

/// Sizes are in elements.
struct Gqa {
  int64_t width = 0;      ///< of the residual stream
  int64_t heads = 0;      ///< query heads, of this rank
  int64_t kv_heads = 0;   ///< divides heads
  int64_t key_dim = 0;    ///< elements of a query and key head
  int64_t value_dim = 0;  ///< elements of a value head
  Mask mask = Mask::kCausal;
  int64_t window = 0;  ///< positions that a row sees, its own included, of each side; 0 = all
  int64_t chunk = 0;   ///< a row sees no position before its own multiple of this; 0 = all
  /// Of an endless text: the first positions, which rows behind the first pinned + window see
  /// beside their window, as from position pinned + window - 1 (numerics 3.7). 0 = none.
  int64_t pinned = 0;
  float scale = 0;                 ///< of queries, before they meet the keys (numerics 3.7)
  std::optional<size_t> rope = 0;  ///< which of the network's; nothing: positions turn no head
  float soft_cap = 0;              ///< of the scores (numerics 3.12); 0 = none
  std::vector<float> slopes = {};  ///< [heads] of ALiBi (numerics 3.7), or empty
  QueryTemperature temperature = {};
  /// Which layer of the KV store it reads, that of an earlier Gqa of the same shape: it has no K
  /// and V of its own then, and of what concerns them only the numbers.
  std::optional<int64_t> shared_kv = {};
  ValueSource values = ValueSource::kMatrix;
  ValueNorm value_norm = ValueNorm::kNone;
  float value_scale = 1;  ///< of values, before they are kept
  Sinks sinks = Sinks::kNone;
  Fusion fusion = Fusion::kSeparate;    ///< of Q, K and V
  Presence bias = Presence::kOptional;  ///< of Q, K and V; that of the output is optional
  HeadNorm head_norm = HeadNorm::kNone;
  HeadNormPlace head_norm_place = HeadNormPlace::kBeforeRope;
  OutputGate output_gate = OutputGate::kNone;
  float norm_epsilon = 0;
  HeadShare share = {};      ///< query heads, KV heads
  RowPart output_rows = {};  ///< of the output matrix, those of this rank

  kernels::PackedMatrix query = {}, key = {}, value = {}, output = {};
  kernels::PackedMatrix gate = {};  ///< [gate_width][width], of gates that have a matrix
  std::vector<float> query_bias = {}, key_bias = {}, value_bias = {}, output_bias = {};
  std::vector<float> query_norm = {}, key_norm = {};
  std::vector<float> sink = {};  ///< [heads]

  int64_t group() const { return heads / kv_heads; }
  int64_t query_width() const { return heads * key_dim; }
  /// Rows of the matrix: with those of the gates that stand in it.
  int64_t query_rows() const { return gates_in_query() ? 2 * query_width() : query_width(); }
  bool has_gates() const { return output_gate != OutputGate::kNone; }
  bool gates_in_query() const { return output_gate == OutputGate::kSigmoid; }
  int64_t gate_width() const {
    return output_gate == OutputGate::kSigmoidOfHeads ? heads : output_width();
  }
  int64_t key_width() const { return kv_heads * key_dim; }
  int64_t value_width() const { return kv_heads * value_dim; }
  int64_t output_width() const { return heads * value_dim; }

  /// Of the heads of all ranks, of `size` elements each, those of this one.
  RowPart QueryPart(int64_t size) const { return Times(PartOf(share.heads, heads), size); }
  RowPart KvPart(int64_t size) const { return Times(PartOf(share.groups, kv_heads), size); }
  RowPart OutputPart() const { return PartOf(output_rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const Gqa&) { return "attention"; }

/// Checks the numbers; `ropes` are the network's, valid. Errors: kBadModel.
Status Validate(const Gqa& gqa, std::span<const Rope> ropes);

/// Leaves a rank its heads: KV heads with the query heads that read them, or where there are more
/// ranks than KV heads, some of the query heads of one. Errors: kUnsupported for more ranks than
/// heads, or where rows are normed as one than KV heads.
Status Split(const Rank& rank, Gqa& gqa);

/// Its tensors.
void Declare(Gqa& gqa, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Gqa& gqa, const StepLimits& limits);

/// The shape of the K and V that it reads.
kv::KvShape ShapeOf(const Gqa& gqa);

/// What it keeps of every position: nothing, where it reads what another does.
kv::KvShape Cache(const Gqa& gqa);

/// What it carries from row to row: nothing.
int64_t StateFloats(const Gqa& gqa);

/// Computes the block for all rows of the batch, which `input` brings. K and V of all of them are
/// in the pages afterwards. The results of the rows kept stand in workspace.projected: all of them
/// in their order, or row i for batch.output_row(i).
void Run(const Gqa& gqa, const Input& input, const MixerStep& step, const Context& context);

/// Counts what Run does.
void AddWork(const Gqa& gqa, const MixerShape& shape, StepWork& work);

}  // namespace skald::model
