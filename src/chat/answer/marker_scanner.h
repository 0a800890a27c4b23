/// MarkerScanner: finds markers in text that comes symbol by symbol, and holds back no more than
/// what may be the beginning of one.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "chat/answer/symbols.h"

namespace skald::chat {

/// See above. Time a symbol: a comparison with each marker, for each symbol held back.
class MarkerScanner {
 public:
  explicit MarkerScanner(std::vector<Symbols> markers) : markers_(std::move(markers)) {}

  const Symbols& marker(size_t index) const { return markers_[index]; }
  size_t size() const { return markers_.size(); }

  /// The marker that `symbol` completes. Before that, `take(symbol)` gets what is no part of one;
  /// of each marker `is_active(index)` tells whether it counts now.
  template <typename IsActive, typename Take>
  std::optional<size_t> Push(Symbol symbol, const IsActive& is_active, const Take& take) {
    held_ += symbol;
    while (!held_.empty()) {
      bool may_come = false;
      for (size_t i = 0; i < markers_.size(); ++i) {
        if (!markers_[i].starts_with(held_) || !is_active(i)) continue;
        if (markers_[i].size() == held_.size()) {
          held_.clear();
          return i;
        }
        may_come = true;
      }
      if (may_come) return std::nullopt;
      const Symbol first = held_[0];
      held_.erase(0, 1);
      take(first);
    }
    return std::nullopt;
  }

  /// What is held back: no marker any more.
  Symbols Take() { return std::exchange(held_, {}); }

 private:
  std::vector<Symbols> markers_;
  Symbols held_;
};

}  // namespace skald::chat
