#include "grammar/constraint_state.h"

#include <algorithm>
#include <bitset>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "grammar/fuel.h"
#include "grammar/token_mask.h"
#include "grammar/token_table.h"

namespace skald::grammar {

namespace {

Status TooComplex() {
  return {ErrorCode::kInvalidArgument,
          "grammar_too_complex: the grammar is so ambiguous at this place of the text that a "
          "bound was met"};
}

}  // namespace

ConstraintState::ConstraintState(const Constraint& constraint)
    : data_(constraint.data()), row_(data_->first), last_(data_->first_mask) {}

RowPointer ConstraintState::Behind(TokenId token) const {
  const std::string_view bytes = data_->vocabulary.table().BytesOf(token);
  if (bytes.empty()) return RowBehindToken(form(), *row_, token);
  Reading reading = ReadBytes(form(), row_, bytes);
  const bool fits = reading.taken == bytes.size() || reading.row->too_complex;
  return fits ? std::move(reading.row) : nullptr;
}

bool ConstraintState::Allows(TokenId token) const { return Behind(token) != nullptr; }

Status ConstraintState::MakeMask(MaskBudget* budget) const {
  if (last_ != nullptr && AllowTheSame(*data_, *last_->row, *row_)) return Ok();
  // The first row of all may be: nobody has advanced to it.
  if (row_->too_complex) return TooComplex();
  KeptMask mask = {.row = row_,
                   .words = std::vector<uint64_t>(data_->vocabulary.table().mask_words())};
  Fuel work(budget->steps, budget->stop);
  const bool is_made = AllowTokens(*data_, row_, mask.words, &work);
  budget->steps = work.left();
  if (!is_made)
    return work.IsSpent() ? Status(ErrorCode::kCancelled, "the mask takes longer") : TooComplex();
  last_ = std::make_shared<const KeptMask>(std::move(mask));
  return Ok();
}

Status ConstraintState::FillMask(std::span<uint64_t> words) const {
  MaskBudget budget;
  return FillMask(words, &budget);
}

Status ConstraintState::FillMask(std::span<uint64_t> words, MaskBudget* budget) const {
  CHECK(words.size() >= data_->vocabulary.table().mask_words());
  RETURN_IF_ERROR(MakeMask(budget));
  const auto end = std::copy(last_->words.begin(), last_->words.end(), words.begin());
  std::fill(end, words.end(), uint64_t{0});
  return Ok();
}

Status ConstraintState::Advance(TokenId token) {
  RowPointer next = Behind(token);
  if (next == nullptr)
    return {ErrorCode::kInvalidArgument,
            "the grammar does not allow the token " + std::to_string(token) + " here"};
  if (next->too_complex) return TooComplex();
  row_ = std::move(next);
  return Ok();
}

std::string ConstraintState::ForcedBytes(size_t limit) const {
  std::string forced;
  RowPointer row = row_;
  while (forced.size() < limit && !row->accepting && !row->too_complex) {
    const std::bitset<256> next = NextBytes(form(), *row, 2);
    if (next.count() != 1 || !NextTokens(form(), *row).empty()) break;
    forced.push_back(static_cast<char>(next._Find_first()));
    row = ReadBytes(form(), row, std::string_view(forced).substr(forced.size() - 1)).row;
  }
  return forced;
}

TokenId ConstraintState::ForcedToken() const {
  if (row_->accepting || row_->too_complex) return kNoToken;
  const std::vector<TokenId> tokens = NextTokens(form(), *row_);
  if (tokens.empty() || NextBytes(form(), *row_, 1).any()) return kNoToken;
  // Two rules may lead to the same one.
  const bool one = std::all_of(tokens.begin(), tokens.end(),
                               [&](TokenId token) { return token == tokens.front(); });
  return one ? tokens.front() : kNoToken;
}

}  // namespace skald::grammar
