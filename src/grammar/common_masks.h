/// CommonMasks: masks of leaves that most constraints have, made once for a vocabulary.
///
/// The inside of a JSON string, a number, a key that nobody declared: each schema has leaves of its
/// own for them, and a fresh constraint would make their masks anew while somebody waits. Two
/// states of any leaves have the same mask if the same bytes lead to the same from them on. So
/// masks are kept by that, their shape. Only shapes that JSON itself has are kept, never those of a
/// schema: nobody learns from the clock what another one asked for.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "grammar/form.h"
#include "grammar/leaf_mask.h"

namespace skald::grammar {

class TokenTable;

/// What MakeMask looks at, as bytes that are equal if that is equal. Empty for
/// more than 128 states, and for keys without quotes. Takes some steps for each state.
std::string ShapeOf(const Rule& rule, const LeafState& place);

/// For any number of threads.
class CommonMasks {
 public:
  CommonMasks();

  /// As MakeMask; null if the shape is none that JSON itself has, or if `work` ran dry.
  std::shared_ptr<const LeafMask> Get(const Form& form, const TokenTable& tokens,
                                      const LeafState& place, Fuel* work);

 private:
  void AddShapes(const Form& form);

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const LeafMask>> made_;  // null until it is
};

}  // namespace skald::grammar
