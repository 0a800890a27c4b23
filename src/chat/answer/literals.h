/// Literals: which of some texts comes, told symbol by symbol.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "chat/answer/symbols.h"

namespace skald::chat {

/// None of the texts is the beginning of another one.
class Literals {
 public:
  enum class Match { kNo, kPartial, kWhole };

  Literals() = default;
  explicit Literals(std::vector<Symbols> texts) : texts_(std::move(texts)) { Reset(); }

  /// kNo: `symbol` is not taken. Cost: one comparison for each text that is still possible.
  Match Push(Symbol symbol) {
    const size_t at = read_.size();
    for (const size_t index : alive_)
      if (at < texts_[index].size() && texts_[index][at] == symbol) next_.push_back(index);
    if (next_.empty()) return Match::kNo;
    std::swap(alive_, next_);
    next_.clear();
    read_ += symbol;
    return texts_[alive_[0]].size() == read_.size() ? Match::kWhole : Match::kPartial;
  }
  /// The one that has come whole.
  size_t which() const { return alive_[0]; }
  /// What has been taken of it.
  const Symbols& read() const { return read_; }
  bool empty() const { return texts_.empty(); }

  void Reset() {
    read_.clear();
    alive_.resize(texts_.size());
    for (size_t i = 0; i < alive_.size(); ++i) alive_[i] = i;
  }

 private:
  std::vector<Symbols> texts_;
  std::vector<size_t> alive_;
  std::vector<size_t> next_;
  Symbols read_;
};

}  // namespace skald::chat
