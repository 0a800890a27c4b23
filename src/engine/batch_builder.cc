#include "engine/batch_builder.h"

namespace skald::engine {
namespace {

void AddRows(int64_t first, int64_t count, std::vector<int32_t>* rows) {
  for (int64_t i = 0; i < count; ++i) rows->push_back(static_cast<int32_t>(first + i));
}

}  // namespace

void BatchBuilder::Reserve(int64_t rows, int64_t logit_rows) {
  tokens_.reserve(static_cast<size_t>(rows));
  logit_rows_.reserve(static_cast<size_t>(logit_rows));
}

void BatchBuilder::Clear() {
  tokens_.clear();
  sequences_.clear();
  logit_rows_.clear();
  hidden_rows_.clear();
}

int64_t BatchBuilder::Add(model::SequenceRows rows, std::span<const TokenId> tokens,
                          std::span<const TokenId> more) {
  const int64_t first = row_count();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  tokens_.insert(tokens_.end(), more.begin(), more.end());
  rows.row_count = row_count() - first;
  sequences_.push_back(rows);
  return first;
}

void BatchBuilder::WantLogits(int64_t first, int64_t count) { AddRows(first, count, &logit_rows_); }
void BatchBuilder::WantHidden(int64_t first, int64_t count) {
  AddRows(first, count, &hidden_rows_);
}

}  // namespace skald::engine
