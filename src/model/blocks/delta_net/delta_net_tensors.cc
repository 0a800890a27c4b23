// The tensors of DeltaNet, and what of them a rank has.

#include <optional>
#include <string>

#include "model/blocks/delta_net/delta_net.h"
#include "model/blocks/gathered.h"

namespace skald::model {
namespace {

// Rows, or elements, of the value heads of this rank, those of all beginning at `first`.
void AddValues(const DeltaNet& net, int64_t first, int64_t size, RowPieces* pieces) {
  const ColumnRuns own = net.ValueRuns(size);
  for (int64_t run = 0; run < own.runs; ++run) {
    pieces->Add(first + own.first + run * own.run_stride, own.count);
  }
}

RowPieces ValuesOf(const DeltaNet& net, int64_t size) {
  RowPieces pieces = {.all_rows = net.all_value_heads() * size};
  AddValues(net, 0, size, &pieces);
  return pieces;
}

// Queries, keys, values.
RowPieces ChannelsOf(const DeltaNet& net) {
  const RowPart keys = net.KeyPart(net.key_dim);
  const int64_t values = 2 * keys.all_rows;
  RowPieces pieces = {.all_rows = values + net.all_value_heads() * net.value_dim};
  pieces.Add(keys.first_row, keys.rows);
  pieces.Add(keys.all_rows + keys.first_row, keys.rows);
  AddValues(net, values, net.value_dim, &pieces);
  return pieces;
}

// Of each key head `shared` rows, and two of `size` for each of its value heads: all of the one,
// then all of the other.
RowPieces FusedOf(const DeltaNet& net, int64_t shared, int64_t size) {
  const RowPart group = Times(net.GroupPart(), size);
  const int64_t of_head = shared + 2 * group.all_rows;
  const RowPart keys = net.KeyPart(1);
  RowPieces pieces = {.all_rows = keys.all_rows * of_head};
  for (int64_t head = keys.first_row; head < keys.first_row + keys.rows; ++head) {
    const int64_t first = head * of_head;
    const int64_t values = first + shared + group.first_row;
    pieces.Add(first, shared);
    pieces.Add(values, group.rows);
    pieces.Add(values + group.all_rows, group.rows);
  }
  return pieces;
}

}  // namespace

RowPart DeltaNet::GroupPart() const {
  const RowPart keys = KeyPart(1);
  const int64_t group = all_value_heads() / keys.all_rows;
  const int64_t first = PartOf(share.heads, value_heads).first_row - keys.first_row * group;
  return {first, value_heads / key_heads, group};
}

ColumnRuns DeltaNet::ValueRuns(int64_t size) const {
  if (order == KeyHeadOrder::kNeighbours) {
    return RunsOf(Times(PartOf(share.heads, value_heads), size));
  }
  const RowPart keys = KeyPart(size);
  const RowPart group = GroupPart();
  return {.first = group.first_row * keys.all_rows + keys.first_row,
          .count = keys.rows,
          .runs = group.rows,
          .run_stride = keys.all_rows,
          .multiple = keys.multiple};
}

Status Split(const Rank& rank, DeltaNet& net) {
  const std::optional<HeadShare> share = ShareHeads(rank, {net.value_heads, net.key_heads});
  if (!share) {
    return TooManyRanks(rank, std::to_string(net.value_heads) + " value heads of a delta rule, " +
                                  std::to_string(net.value_heads / net.key_heads) +
                                  " of a key head");
  }
  net.share = *share;
  net.value_heads = share->heads.rows;
  net.key_heads = share->groups.rows;
  net.output_rows = PanelsOf(net.width, rank);
  return Ok();
}

void Declare(DeltaNet& net, TensorList& tensors) {
  const RowPieces channels = ChannelsOf(net);
  const RowPieces values = ValuesOf(net, net.value_dim);
  const RowPieces heads = ValuesOf(net, 1);
  if (net.projections == Fusion::kFused) {
    const RowPieces rows = FusedOf(net, 2 * net.key_dim, net.value_dim);
    tensors.MatrixPieces("ssm_in.weight", rows, net.width, &net.qkv);
  } else {
    tensors.MatrixPieces("attn_qkv.weight", channels, net.width, &net.qkv);
    tensors.MatrixPieces("attn_gate.weight", values, net.width, &net.z);
  }
  if (net.gates == Fusion::kFused) {
    tensors.MatrixPieces("ssm_ba.weight", FusedOf(net, 0, 1), net.width, &net.beta);
  } else {
    tensors.MatrixPieces("ssm_beta.weight", heads, net.width, &net.beta);
    tensors.MatrixPieces("ssm_alpha.weight", heads, net.width, &net.decay);
  }
  tensors.TablePieces("ssm_conv1d.weight", channels, net.taps, &net.weights);
  tensors.VectorPieces("ssm_dt.bias", heads, &net.decay_bias);
  tensors.VectorPieces("ssm_a", heads, &net.decay_rate);
  tensors.Vector("ssm_norm.weight", net.value_dim, &net.norm);
  tensors.MatrixPart("ssm_out.weight", net.OutputPart(), values.all_rows, &net.output);
}

}  // namespace skald::model
