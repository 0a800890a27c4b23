/// Mla: multi-head latent attention (DeepSeek-V2, 2024). All heads share one latent vector of a
/// position and one turned key; pages hold these two and nothing else.
///
///     [l, k] = L * h;  latent = norm(l);  turned = rope(k)                          a position
///     [q_n, q_r] = Q * h, or Q * norm(D * h), of each head;  q = [K_h * q_n, rope(q_r)]
///     o_h = V_h * (softmax(scale * q . [latent, turned]) . latent)
///     O * [o_0, o_1, ...]
///
/// This is the absorbed form: K_h carries the query into the space of the latents. It is taken for
/// every row, so that decode and prefill are one arithmetic.
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
#include "model/norm.h"
#include "model/rank.h"
#include "model/rope_table.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Far above any published model: 1536.
inline constexpr int64_t kMaxQueryRank = int64_t{1} << 14;

/// Sizes are in elements.
struct Mla {
  int64_t width = 0;               ///< of the residual stream
  int64_t heads = 0;               ///< query heads, of this rank
  int64_t nope_dim = 0;            ///< of a query head: what positions do not turn
  int64_t rope_dim = 0;            ///< of a query head and of the key: what they do
  int64_t value_dim = 0;           ///< of a head
  int64_t rank = 0;                ///< of the latent
  int64_t query_rank = 0;          ///< of the queries' own latent; 0: there is none
  float scale = 0;                 ///< of queries, before they meet the keys (numerics 3.7)
  std::optional<size_t> rope = 0;  ///< which of the network's; nothing: positions turn nothing
  QueryTemperature temperature = {};
  int64_t window = 0;  ///< of an endless text: positions that a row sees; 0 = all
  int64_t pinned = 0;  ///< and the first ones, as Gqa's
  /// Of K_h and V_h: tensors of their own, or one as in the checkpoint: of each head K_h by
  /// columns, below it V_h.
  Fusion key_value = Fusion::kSeparate;
  Norm query_norm = {};  ///< of the queries' latent
  Norm latent_norm = {};
  RowPart head_rows = {};        ///< of the heads, those of this rank
  RowPart query_down_rows = {};  ///< of these matrices
  RowPart latent_rows = {};
  RowPart output_rows = {};

  kernels::PackedMatrix query_down = {};             ///< [query_rank][width]
  kernels::PackedMatrix query = {};                  ///< [heads][nope_dim + rope_dim], one matrix
  kernels::PackedMatrix latent = {};                 ///< [rank + rope_dim][width]
  std::vector<kernels::PackedMatrix> key_up = {};    ///< by head: [rank][nope_dim]
  std::vector<kernels::PackedMatrix> value_up = {};  ///< by head: [value_dim][rank]
  kernels::PackedMatrix output = {};                 ///< [width][heads * value_dim]

  int64_t query_dim() const { return nope_dim + rope_dim; }
  int64_t query_width() const { return heads * query_dim(); }
  int64_t key_dim() const { return rank + rope_dim; }
  bool has_query_rank() const { return query_rank > 0; }

  /// Of the heads of all ranks, of `size` elements each, those of this one.
  RowPart HeadPart(int64_t size) const { return Times(PartOf(head_rows, heads), size); }
  RowPart QueryDownPart() const { return PartOf(query_down_rows, query_rank); }
  RowPart LatentPart() const { return PartOf(latent_rows, key_dim()); }
  RowPart OutputPart() const { return PartOf(output_rows, width); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const Mla&) { return "latent attention"; }

/// Checks the numbers; `ropes` are the network's, valid. Errors: kBadModel.
Status Validate(const Mla& mla, std::span<const Rope> ropes);

/// Leaves a rank its query heads. What it keeps of every position is that of all: all heads share
/// it. Errors: kUnsupported for more ranks than heads.
Status Split(const Rank& rank, Mla& mla);

/// Its tensors.
void Declare(Mla& mla, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Mla& mla, const StepLimits& limits);

/// What it keeps of every position: rank + rope_dim numbers.
kv::KvShape Cache(const Mla& mla);

/// What it carries from row to row: nothing.
int64_t StateFloats(const Mla& mla);

/// As Gqa's.
void Run(const Mla& mla, const Input& input, const MixerStep& step, const Context& context);

/// Counts what Run does.
void AddWork(const Mla& mla, const MixerShape& shape, StepWork& work);

}  // namespace skald::model
