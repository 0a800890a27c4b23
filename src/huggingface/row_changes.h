/// RowChanges: tensors whose rows or columns are not stored in the order in which ours have them.
#pragma once

#include <cstdint>
#include <string>

#include "huggingface/config.h"
#include "huggingface/planned_tensor.h"
#include "skald/status.h"

namespace skald::huggingface {

/// What rows are counted by. 0: config.json does not say; that is an error where it is needed.
struct HeadNumbers {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t key_heads = 0;  ///< of delta nets
  int64_t value_heads = 0;
  int64_t value_dim = 0;
};

Result<HeadNumbers> ReadHeadNumbers(const Config& config);

/// What a change needs beside the tensor.
struct ChangeInputs {
  const Config& config;
  const HeadNumbers& numbers;
  const std::string& stored;  ///< name, for messages
  bool is_vector = false;     ///< its elements are what moves
};

/// Completes `tensor`, whose rows and columns are as stored, for its change: the heads that its
/// rows belong to, the rows that are left, and for a vector rows of one element. So every place
/// that is read lies inside of what is stored. Errors: kBadModel for rows that are no multiple of
/// what moves.
Status ApplyChange(const ChangeInputs& inputs, PlannedTensor* tensor);

}  // namespace skald::huggingface
