/// StopMatcher: finds stop strings in streamed text, also across the borders of its pieces.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "skald/status.h"
#include "text/byte_automaton.h"

namespace skald::text {

/// Passes text through until the first stop string. Text that may be the beginning of a stop string
/// is held back until more text decides it, so no part of a stop string is ever shown.
///
/// The first stop string is the one that ends first; of several that end at the same place, the
/// longest. What was passed through before it is exactly the text up to where it begins, and that
/// does not depend on how the text was cut into pieces. Time is linear in the text, whatever the
/// stop strings. One object per stream; not thread-safe.
class StopMatcher {
 public:
  /// What a piece of text brought.
  struct Output {
    std::string text;     ///< text now certain not to be part of a stop string
    int stop_index = -1;  ///< index of the stop string that was found, or -1
  };

  /// At most this many stop strings of this length: far above any use, far below a burden.
  static constexpr size_t kMaxStops = 256;
  static constexpr size_t kMaxStopBytes = 4096;

  /// No stop strings at all is legal: everything passes at once. Errors: kInvalidArgument for an
  /// empty stop string, one longer than kMaxStopBytes, or more than kMaxStops.
  static Result<StopMatcher> Create(std::span<const std::string> stops);

  /// Takes the next piece of text. After a stop string was found, nothing passes any more and
  /// stop_index stays as it was, until Reset.
  Output Push(std::string_view piece);
  /// The text ends here without a stop string: returns what was held back.
  std::string Flush();
  /// Forgets all text, for the next stream.
  void Reset();

 private:
  StopMatcher() = default;

  ByteAutomaton automaton_;
  ByteAutomaton::State state_ = ByteAutomaton::kRoot;
  std::string held_;  // the last Depth(state_) bytes of the text, not yet passed on
  int stop_index_ = -1;
};

}  // namespace skald::text
