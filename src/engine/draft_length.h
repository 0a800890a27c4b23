/// DraftLength: how many tokens to guess ahead, so that guessing pays.
///
/// A draft of k tokens, each right with probability p, brings p + p^2 + ... + p^k tokens more in a
/// step that takes longer by k rows. Both sides are measured: p for each sequence from what became
/// of its drafts, the time from the steps with as many rows as that. The length with the most
/// tokens a second is chosen; where none pays, none is guessed, but for a probe now and then that
/// notices when the text has changed. What the measurements say shapes steps, never answers.
#pragma once

#include <cstdint>
#include <vector>

namespace skald::engine {

/// Whose tokens are guessed.
enum class DraftRule : uint8_t {
  kAll,
  kConstrained,  ///< of those that a constraint binds: without speculation only forced text is
                 ///< known
};

/// What is known of the drafts of one sequence.
struct DraftRecord {
  /// Of a token, given that those before it were right. At first a guess worth two tokens.
  double acceptance = 0.5;
  int64_t tried = 0;   ///< tokens compared so far
  int64_t wait = 0;    ///< steps until the next probe, while no draft pays
  int64_t pause = 32;  ///< `wait` after the next probe; doubles until a draft pays
};

class DraftLength {
 public:
  /// Drafts have `least` to `most` tokens, if the proposer has so many; a step `max_rows`.
  DraftLength(int64_t least, int64_t most, int64_t max_rows);

  /// Plans a step of `decode_rows` rows without drafts.
  void Begin(int64_t decode_rows);
  /// How many tokens to guess for the next sequence of the step, at most `allowed`. What is
  /// answered counts as rows of the step for the sequences that follow.
  int64_t Next(DraftRecord* record, int64_t allowed);

  /// Nothing was guessed, though it was to be: a probe is then repeated in the next step, for a
  /// proposer that was behind may have caught up.
  static void Miss(DraftRecord* record);
  /// `tried` of the tokens proposed were compared: all `accepted` ones, and the first that was
  /// wrong, if there was one.
  static void Learn(int64_t tried, int64_t accepted, DraftRecord* record);
  /// A step with so many rows of decode and drafts, and none of prompts, took `seconds`.
  void Observe(int64_t rows, double seconds);

 private:
  bool Known(int64_t rows) const;
  double SecondsOf(int64_t rows) const;  // requires a known number, not larger
  int64_t Best(double acceptance, int64_t allowed) const;

  int64_t least_;
  int64_t most_;
  std::vector<double> seconds_;  // by rows; 0 = not known
  // Of the step being planned.
  int64_t decode_rows_ = 0;
  int64_t rows_ = 0;   // with drafts
  double tokens_ = 0;  // expected
};

}  // namespace skald::engine
