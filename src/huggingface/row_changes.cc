#include "huggingface/row_changes.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"
#include "huggingface/decoder_keys.h"

namespace skald::huggingface {
namespace {

Status SkipPadding(const ChangeInputs& inputs, PlannedTensor* tensor) {
  ASSIGN_OR_RETURN(const int64_t rows, PaddingRows(inputs.config));
  tensor->skipped = static_cast<uint64_t>(rows);
  if (tensor->rows <= tensor->skipped)
    return TensorError(inputs.stored,
                       fmt::format("has {} rows, expected more than {}", tensor->rows, rows));
  tensor->rows -= tensor->skipped;
  return Ok();
}

// `length`: the rows or columns of which the last are the heads; what stands before them is of
// queries and keys, and stays. Gates have one row for a head.
Status TurnValueHeads(const ChangeInputs& inputs, uint64_t length, PlannedTensor* tensor) {
  constexpr int64_t kMost = 65536;
  const HeadNumbers& n = inputs.numbers;
  if (n.key_heads < 1 || n.value_heads < 1 || n.value_heads > kMost || n.value_dim < 1 ||
      n.value_dim > kMost || n.value_heads % n.key_heads != 0) {
    return ConfigError("linear_num_value_heads",
                       fmt::format("is {} (of {} each), no multiple of {} key heads", n.value_heads,
                                   n.value_dim, n.key_heads));
  }
  const auto heads = static_cast<uint64_t>(n.value_heads);
  const bool one_each = length == heads;
  const uint64_t size = one_each ? 1 : static_cast<uint64_t>(n.value_dim);
  const bool all = tensor->change == Change::kTurnValueColumns;
  if (all ? length != heads * size : length < heads * size)
    return TensorError(inputs.stored,
                       fmt::format("has {} elements for {} heads of {}", length, heads, size));
  tensor->value_heads = {
      .key_heads = static_cast<uint64_t>(n.key_heads), .count = heads, .size = size};
  return Ok();
}

Status HalveRows(const ChangeInputs& inputs, PlannedTensor* tensor) {
  if (tensor->rows % 2 != 0) return TensorError(inputs.stored, "expected an even number of rows");
  tensor->rows /= 2;
  return Ok();
}

Status PairRows(const ChangeInputs& inputs, int64_t heads, PlannedTensor* tensor) {
  tensor->heads = heads < 0 ? 0 : static_cast<uint64_t>(heads);
  if (tensor->heads >= 1 && tensor->rows % (2 * tensor->heads) == 0) return Ok();
  return TensorError(inputs.stored,
                     fmt::format("{} rows are not an even number for each of {} heads",
                                 tensor->rows, tensor->heads));
}

}  // namespace

Result<HeadNumbers> ReadHeadNumbers(const Config& config) {
  HeadNumbers numbers;
  ASSIGN_OR_RETURN(numbers.heads, config.Int("num_attention_heads"));
  ASSIGN_OR_RETURN(numbers.kv_heads, config.IntOr("num_key_value_heads", numbers.heads));
  ASSIGN_OR_RETURN(numbers.key_heads, config.IntOr("linear_num_key_heads", 0));
  ASSIGN_OR_RETURN(numbers.value_heads, config.IntOr("linear_num_value_heads", 0));
  ASSIGN_OR_RETURN(numbers.value_dim, config.IntOr("linear_value_head_dim", 0));
  return numbers;
}

Status ApplyChange(const ChangeInputs& inputs, PlannedTensor* tensor) {
  const Change change = tensor->change;
  if (change == Change::kNone) return Ok();
  if (change == Change::kTurnValueColumns) return TurnValueHeads(inputs, tensor->columns, tensor);
  if (change == Change::kSkipPadding) return SkipPadding(inputs, tensor);
  if (inputs.is_vector) std::swap(tensor->rows, tensor->columns);
  if (change == Change::kTurnValueHeads) return TurnValueHeads(inputs, tensor->rows, tensor);
  if (change == Change::kPairRows) return PairRows(inputs, inputs.numbers.heads, tensor);
  if (change == Change::kPairKvRows) return PairRows(inputs, inputs.numbers.kv_heads, tensor);
  return HalveRows(inputs, tensor);
}

}  // namespace skald::huggingface
