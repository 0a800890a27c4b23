/// Schedule: sequences that come, go on in chunks beside each other, fork, move, are preempted and
/// guess ahead, as a seed says; every number that a runner gives for them is compared with the
/// answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "kv/kv_layout.h"
#include "schedules/answers.h"
#include "schedules/id_stock.h"
#include "sim/seeded.h"

namespace skald::schedules {

/// What schedules did, to show that they did it.
struct Deeds {
  int64_t steps = 0;
  int64_t rows = 0;
  int64_t compared = 0;  ///< rows whose numbers were looked at
  int64_t forks = 0;
  int64_t moves = 0;
  int64_t preemptions = 0;
  int64_t guesses = 0;  ///< rows of wrong tokens, written over afterwards
  int64_t windows_dropped = 0;

  void Add(const Deeds& other);
};

class Schedule {
 public:
  /// `runner` has no pages of anybody; OptionsFor says what it must have. All pages that are free,
  /// and all states, are NaN then and afterwards (PoisonAll).
  Schedule(uint64_t seed, Answers* answers, const kv::KvLayout& layout, engine::Runner* runner);

  /// Runs to the end. Returns "", or what was wrong.
  std::string Run();
  const Deeds& deeds() const { return deeds_; }

 private:
  struct Sequence {
    size_t text = 0;
    int64_t length = 0;
    int64_t position = 0;
    std::vector<kv::PageId> pages = {};
    std::vector<kv::PageId> windows = {};  // kNoPage: no row to come sees them
    kv::StateId state = kv::kNoState;
  };
  // A sequence's part of a step: `count` rows of its text, then so many wrong guesses.
  struct Part {
    Sequence* sequence = nullptr;
    int64_t count = 0;
    int64_t guesses = 0;
    int64_t rows() const { return count + guesses; }
  };

  void Start();
  void Disturb();
  void Fork(const Sequence& parent);
  void Move(Sequence* sequence);
  void MoveState(Sequence* sequence);
  void Preempt(Sequence* sequence);
  void Step();
  std::vector<Part> DrawParts();
  int64_t DrawChunk(const Sequence& sequence);
  void Compute(const std::vector<Part>& parts);
  void Compare(const Part& part, int64_t row, std::span<const float> found);
  void CoverRows(Sequence* sequence, int64_t end);
  void LeaveWindow(Sequence* sequence);
  void Release(Sequence* sequence);
  void DropPage(kv::PageId page);
  void DropWindow(kv::PageId page);
  void DropState(kv::StateId state);
  bool has_windows() const { return layout_.window > 0; }

  sim::Seeded random_;
  Answers& answers_;
  const kv::KvLayout& layout_;
  engine::Runner& runner_;
  const bool has_states_;
  IdStock pages_;
  IdStock windows_;
  IdStock states_;
  std::vector<Sequence> running_;
  int64_t to_start_;
  std::string wrong_;
  Deeds deeds_;
};

/// Fills all pages and states of a runner with NaN.
void PoisonAll(engine::Runner* runner);

}  // namespace skald::schedules
