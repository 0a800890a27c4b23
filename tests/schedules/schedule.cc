#include "schedules/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/attention/attention.h"

namespace skald::schedules {
namespace {

using kernels::kPageTokens;
using kv::PageGroup;

// At once. Each has 20 pages at most, and one more while it moves: fewer than kPages together.
constexpr size_t kMostRunning = 4;
constexpr int64_t kMostGuesses = 4;

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

void Deeds::Add(const Deeds& other) {
  steps += other.steps;
  rows += other.rows;
  compared += other.compared;
  forks += other.forks;
  moves += other.moves;
  preemptions += other.preemptions;
  guesses += other.guesses;
  windows_dropped += other.windows_dropped;
}

void PoisonAll(engine::Runner* runner) {
  for (kv::PageId page = 0; page < kPages; ++page) {
    runner->Poison(PageGroup::kFull, page);
    runner->Poison(PageGroup::kWindow, page);
  }
  if (runner->StateBytes() == 0) return;
  for (kv::StateId state = 0; state < kStates; ++state) runner->PoisonState(state);
}

Schedule::Schedule(uint64_t seed, Answers* answers, const kv::KvLayout& layout,
                   engine::Runner* runner)
    : random_(seed),
      answers_(*answers),
      layout_(layout),
      runner_(*runner),
      has_states_(runner->StateBytes() > 0),
      pages_(kPages),
      windows_(kPages),
      states_(kStates),
      to_start_(random_.Between(1, 6)) {}

std::string Schedule::Run() {
  while (wrong_.empty() && (to_start_ > 0 || !running_.empty())) {
    while (to_start_ > 0 && running_.size() < kMostRunning &&
           (running_.empty() || random_.OneIn(2))) {
      Start();
    }
    if (!answers_.whole_texts()) Disturb();
    Step();
  }
  for (Sequence& sequence : running_) Release(&sequence);
  return wrong_;
}

// ---- sequences ----

// Short texts mostly; one in a hundred has partitions of attention.
void Schedule::Start() {
  --to_start_;
  const std::vector<std::vector<TokenId>>& texts = answers_.texts();
  const auto last = static_cast<int64_t>(texts.size()) - 1;
  const int64_t most = random_.OneIn(100) ? last : last - 1;
  Sequence sequence{.text = static_cast<size_t>(random_.Between(0, most))};
  answers_.Prepare(sequence.text);
  const auto whole = static_cast<int64_t>(texts[sequence.text].size());
  // What a network says of a whole text it does not say of its beginning.
  sequence.length = answers_.whole_texts() ? whole : random_.Between(1, whole);
  if (has_states_) sequence.state = states_.Take(&random_);
  running_.push_back(std::move(sequence));
}

// Between steps.
void Schedule::Disturb() {
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence& sequence = running_[i];
    if (sequence.position == 0) continue;
    if (random_.OneIn(24)) Move(&sequence);
    if (random_.OneIn(40)) Preempt(&sequence);
    if (sequence.position > 0 && running_.size() < kMostRunning && random_.OneIn(16)) {
      Fork(Sequence(sequence));
    }
  }
}

// Another sequence of the same text goes on from where this one is, as from a prefix found.
void Schedule::Fork(const Sequence& parent) {
  ++deeds_.forks;
  Sequence child = parent;
  const auto whole = static_cast<int64_t>(answers_.texts()[parent.text].size());
  child.length = random_.Between(parent.position, whole);
  if (child.length == parent.position) child.length = parent.length;
  const auto shared = static_cast<size_t>(parent.position / kPageTokens);
  child.pages.resize(shared);
  for (const kv::PageId page : child.pages) pages_.Share(page);
  if (has_windows()) {
    child.windows.resize(shared);
    for (const kv::PageId page : child.windows) {
      if (page != kv::kNoPage) windows_.Share(page);
    }
  }
  if (const int64_t rest = parent.position % kPageTokens; rest > 0) {
    CoverRows(&child, parent.position);
    kv::PageCopy copy{.from = parent.pages[shared],
                      .to = child.pages[shared],
                      .positions = static_cast<int>(rest)};
    if (has_windows()) {
      copy.window_from = parent.windows[shared];
      copy.window_to = child.windows[shared];
    }
    runner_.CopyPage(copy);
  }
  if (has_states_) {
    child.state = states_.Take(&random_);
    runner_.CopyState({.from = parent.state, .to = child.state});
  }
  running_.push_back(std::move(child));
}

// A page, or a state, goes to a tier behind memory and comes back elsewhere.
void Schedule::Move(Sequence* sequence) {
  ++deeds_.moves;
  if (has_states_ && random_.OneIn(2)) return MoveState(sequence);
  const auto last = static_cast<int64_t>(sequence->pages.size()) - 1;
  const auto index = static_cast<size_t>(random_.Between(0, last));
  kv::PageId& page = sequence->pages[index];
  kv::PageParts from{.full = page};
  if (has_windows()) from.window = sequence->windows[index];
  std::vector<std::byte> bytes(static_cast<size_t>(runner_.BytesOf(from)));
  runner_.SavePage(from, bytes);
  kv::PageParts to{.full = pages_.Take(&random_)};
  DropPage(from.full);
  page = to.full;
  if (from.window != kv::kNoPage) {
    to.window = windows_.Take(&random_);
    DropWindow(from.window);
    sequence->windows[index] = to.window;
  }
  runner_.LoadPage(to, bytes);
}

void Schedule::MoveState(Sequence* sequence) {
  std::vector<std::byte> bytes(static_cast<size_t>(runner_.StateBytes()));
  runner_.SaveState(sequence->state, 0, bytes);
  const kv::StateId to = states_.Take(&random_);
  DropState(std::exchange(sequence->state, to));
  runner_.LoadState(sequence->state, 0, bytes);
}

// It begins anew.
void Schedule::Preempt(Sequence* sequence) {
  ++deeds_.preemptions;
  const kv::StateId state = std::exchange(sequence->state, kv::kNoState);
  Release(sequence);
  *sequence = {.text = sequence->text, .length = sequence->length, .state = state};
  if (has_states_) runner_.PoisonState(state);
}

void Schedule::Release(Sequence* sequence) {
  for (const kv::PageId page : sequence->pages) DropPage(page);
  for (const kv::PageId page : sequence->windows) {
    if (page != kv::kNoPage) DropWindow(page);
  }
  if (sequence->state != kv::kNoState) DropState(sequence->state);
}

void Schedule::DropPage(kv::PageId page) {
  if (!pages_.Drop(page)) return;
  runner_.Poison(PageGroup::kFull, page);
}

void Schedule::DropWindow(kv::PageId page) {
  if (!windows_.Drop(page)) return;
  runner_.Poison(PageGroup::kWindow, page);
}

// Nobody shares one.
void Schedule::DropState(kv::StateId state) {
  states_.Drop(state);
  runner_.PoisonState(state);
}

// ---- steps ----

void Schedule::Step() {
  std::vector<Part> parts = DrawParts();
  if (parts.empty()) return;
  Compute(parts);
  for (const Part& part : parts) {
    part.sequence->position += part.count;
    if (has_windows()) LeaveWindow(part.sequence);
  }
  std::erase_if(running_, [&](Sequence& sequence) {
    if (sequence.position < sequence.length) return false;
    Release(&sequence);
    return true;
  });
}

std::vector<Schedule::Part> Schedule::DrawParts() {
  std::vector<Part> parts;
  int64_t room = kContext;
  for (Sequence& sequence : running_) {
    if (room == 0 || random_.OneIn(3)) continue;
    const int64_t left = sequence.length - sequence.position;
    if (answers_.whole_texts() && left > room) continue;
    const int64_t wished = answers_.whole_texts() ? left : DrawChunk(sequence);
    Part part{.sequence = &sequence, .count = std::min(wished, room)};
    room -= part.count;
    // A state has taken what it was shown: nothing can be guessed.
    if (!has_states_ && !answers_.whole_texts() && random_.OneIn(8)) {
      const int64_t end = sequence.position + part.count;
      part.guesses = std::min({random_.Between(1, kMostGuesses), room, answers_.context() - end});
      room -= part.guesses;
    }
    CoverRows(&sequence, sequence.position + part.rows());
    parts.push_back(part);
  }
  // The order of a step's sequences is not the one in which they came.
  for (size_t i = parts.size(); i > 1; --i) {
    const auto other = static_cast<size_t>(random_.Between(0, static_cast<int64_t>(i) - 1));
    std::swap(parts[i - 1], parts[other]);
  }
  return parts;
}

// A token often, as in an answer; a few; or as many as there are.
int64_t Schedule::DrawChunk(const Sequence& sequence) {
  const int64_t left = sequence.length - sequence.position;
  switch (random_.Between(0, 3)) {
    case 0: return 1;
    case 1: return left;
    case 2: return random_.Between(1, left);
    default: return random_.Between(1, std::min<int64_t>(left, 17));
  }
}

void Schedule::CoverRows(Sequence* sequence, int64_t end) {
  const auto count = static_cast<size_t>((end + kPageTokens - 1) / kPageTokens);
  while (sequence->pages.size() < count) {
    sequence->pages.push_back(pages_.Take(&random_));
    if (has_windows()) sequence->windows.push_back(windows_.Take(&random_));
  }
}

// Gives back the window pages that no row to come sees.
void Schedule::LeaveWindow(Sequence* sequence) {
  const int64_t first_seen = std::max<int64_t>(0, sequence->position - layout_.window + 1);
  for (int64_t i = 0; i < first_seen / kPageTokens; ++i) {
    kv::PageId& page = sequence->windows[static_cast<size_t>(i)];
    if (page == kv::kNoPage) continue;
    DropWindow(std::exchange(page, kv::kNoPage));
    ++deeds_.windows_dropped;
  }
}

// One forward pass. Numbers come as logits, or as hidden states that are turned to logits later; of
// all rows, or of some.
void Schedule::Compute(const std::vector<Part>& parts) {
  const bool by_hidden = answers_.whole_texts() || random_.OneIn(3);
  const bool all = random_.OneIn(2);
  std::vector<TokenId> tokens;
  std::vector<model::SequenceRows> sequences;
  std::vector<int32_t> wanted;
  std::vector<std::pair<const Part*, int64_t>> whose;  // of those, and their row of the part
  for (const Part& part : parts) {
    const Sequence& sequence = *part.sequence;
    const std::vector<TokenId>& text = answers_.texts()[sequence.text];
    for (int64_t i = 0; i < part.rows(); ++i) {
      const auto position = static_cast<size_t>(sequence.position + i);
      const bool is_guess = i >= part.count;
      if (!is_guess && (all || i == part.count - 1 || random_.OneIn(3))) {
        wanted.push_back(static_cast<int32_t>(tokens.size()));
        whose.emplace_back(&part, i);
      }
      tokens.push_back(is_guess ? text[0] : text[position]);
    }
    const kv::PageLists pages = has_windows() ? kv::PageLists(sequence.pages, sequence.windows)
                                              : kv::PageLists(sequence.pages);
    sequences.push_back({.row_count = part.rows(),
                         .first_position = sequence.position,
                         .pages = pages,
                         .state = sequence.state});
    deeds_.guesses += part.guesses;
  }
  const std::vector<int32_t> none;
  runner_.Forward({.tokens = tokens,
                   .sequences = sequences,
                   .logit_rows = by_hidden ? none : wanted,
                   .hidden_rows = by_hidden ? wanted : none});
  if (by_hidden && !answers_.whole_texts()) {
    runner_.TurnToLogits(0, static_cast<int64_t>(wanted.size()));
  }
  for (size_t i = 0; i < whose.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    Compare(*whose[i].first, whose[i].second,
            answers_.whole_texts() ? runner_.Hidden(index) : runner_.Logits(index));
  }
  ++deeds_.steps;
  deeds_.rows += static_cast<int64_t>(tokens.size());
  deeds_.compared += static_cast<int64_t>(whose.size());
}

void Schedule::Compare(const Part& part, int64_t row, std::span<const float> found) {
  const int64_t position = part.sequence->position + row;
  const std::span<const float> expected = answers_.At(part.sequence->text, position);
  if (SameBits(expected, found) || !wrong_.empty()) return;
  size_t first = 0;
  while (first < expected.size() && SameBits(expected.subspan(first, 1), found.subspan(first, 1))) {
    ++first;
  }
  wrong_ = "text " + std::to_string(part.sequence->text);
  wrong_ += ", position " + std::to_string(position) + ", number " + std::to_string(first);
  wrong_ += ": " + std::to_string(expected[first]) + " became " + std::to_string(found[first]);
  wrong_ += " (" + std::to_string(part.count) + " rows of its own in step ";
  wrong_ += std::to_string(deeds_.steps) + ")";
}

}  // namespace skald::schedules
