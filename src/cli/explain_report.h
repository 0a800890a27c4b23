/// What `skald explain` says in a terminal: the tokens, a line for each step, and the calls of some
/// steps as trees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skald/explain.h"
#include "skald/status.h"

namespace skald::cli {

/// Levels of a tree below its step: layers, blocks, operations, matrices.
inline constexpr int64_t kMostExplainDepth = 4;

/// What is shown of an explanation.
struct ExplainView {
  int64_t depth = 2;                ///< levels below a step
  int64_t layer = -1;               ///< only this one; -1: all
  std::vector<int64_t> steps = {};  ///< empty: the first, and the first that decodes
  /// Blue for input and what was cached, amber for what was computed, green for results, purple for
  /// sums of others.
  bool has_color = false;
  bool has_cards = false;  ///< of the values that blocks gave, where the explanation has them
};

/// The report. Text of the model and of its file is made safe for a terminal. Errors:
/// kInvalidArgument for a step or a layer that is not there, with those that are.
Result<std::string> ExplainText(const Explanation& explanation, const ExplainView& view);

}  // namespace skald::cli
