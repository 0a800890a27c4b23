/// StatePlaces: where on its way a sequence of a network with states leaves a snapshot for others,
/// besides where it ends or gives up its place.
///
/// A prompt is cut there, so that a step ends behind exactly those tokens. That costs a step of few
/// rows at most, so places are apart from each other:
///
///     known run  [ a a a a a a a a b b b ]
///     prompt     [ a a a a a a a a c c c c c c c c c c c c c c ]
///                                 ^             ^     ^   ^    ^
///                     where it leaves the run   1/2  3/4  7/8  before its last token
///
///   - where it leaves a run that is known: others have left it there, and will;
///   - where one that waits wants to go on;
///   - where the client says that others will (Request::places);
///   - before the last token of the prompt: the same prompt again needs one row;
///   - on the way through a long prompt, each time half of what is left of it: whoever goes on from
///     an edit near the end reads at most twice as much as lies behind the edit.
#pragma once

#include <cstdint>
#include <span>

namespace skald::engine {

/// Tokens between two places that somebody asks for: as many as are worth a wait.
inline constexpr int64_t kLeastAsked = 32;
/// Tokens between two places that nobody has asked for yet. A step of one row costs about as much
/// as ten rows of a prompt.
inline constexpr int64_t kLeastGuessed = 64;
/// Tokens of what is left of a prompt that is not halved any more.
inline constexpr int64_t kLeastHalved = 512;

/// What is known of a sequence. All are numbers of leading tokens; 0: none.
struct StatePlaces {
  int64_t began = 0;     ///< where it went on from
  int64_t last = 0;      ///< the last snapshot on its way so far
  int64_t parts_at = 0;  ///< where it leaves a known run
  int64_t asked_at = 0;  ///< where one that waits wants to go on
  int64_t next = 0;      ///< where the rows of this step end at the latest

  /// Another one wants a snapshot behind `tokens` tokens, more than the `computed` ones. The first
  /// of several comes first; who wants a later one asks again.
  void Ask(int64_t tokens, int64_t computed);
};

/// What the prompt of a sequence says of its places.
struct PromptPlaces {
  int64_t tokens = 0;                    ///< of the prompt
  std::span<const int64_t> marked = {};  ///< Request::places
};

/// The first place behind `computed` tokens; 0: none. At most `halvings` places are halves.
/// O(halvings, and marks).
int64_t NextPlace(const StatePlaces& places, int64_t computed, const PromptPlaces& prompt,
                  int64_t halvings);

}  // namespace skald::engine
