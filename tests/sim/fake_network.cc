#include "sim/fake_network.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "kernels/attention/attention.h"

namespace skald::sim {
namespace {

constexpr uint64_t kPoison = ~uint64_t{0};
constexpr int64_t kPage = kernels::kPageTokens;

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t Chain(uint64_t before, TokenId token, int64_t position, uint64_t cache_namespace) {
  return Mix(before + Mix(static_cast<uint64_t>(token) + 1) +
             Mix(static_cast<uint64_t>(position) << 20) + Mix(cache_namespace << 40));
}

uint64_t Take(uint64_t hash, uint64_t number) { return Mix(hash * 3 + number); }

void FillLogits(uint64_t hash, std::span<float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(Mix(hash + i) % 1024) / 256.0f;
  }
}

void FillDraftLogits(std::span<const float> logits, std::span<float> draft_logits) {
  const float scale = logits.front() < 1 ? -1.0f : 0.75f;
  for (size_t i = 0; i < logits.size(); ++i) draft_logits[i] = scale * logits[i];
}

FakeNetwork::FakeNetwork(int64_t page_count, std::vector<kv::PageId>* freed, Fault fault,
                         int64_t state_slots)
    : fault_(fault),
      freed_(freed),
      slots_(static_cast<size_t>(page_count * kPage), kPoison),
      states_(static_cast<size_t>(state_slots), kPoison),
      written_as_(static_cast<size_t>(page_count)) {
  std::iota(written_as_.begin(), written_as_.end(), 0);
}

void FakeNetwork::PoisonFreed() {
  for (const kv::PageId page : *freed_) {
    std::fill_n(slots_.begin() + page * kPage, kPage, kPoison);
    written_as_[static_cast<size_t>(page)] = page;
  }
  freed_->clear();
  if (window_ == 0) return;
  for (const kv::PageId page : *freed_windows_) {
    std::fill_n(window_slots_.begin() + page * kPage, kPage, kPoison);
  }
  freed_windows_->clear();
}

void FakeNetwork::SetWindows(const kv::WindowLimits& windows, std::vector<kv::PageId>* freed) {
  window_ = windows.positions;
  pinned_ = windows.pinned;
  window_slots_.assign(static_cast<size_t>(windows.pages * kPage), kPoison);
  freed_windows_ = freed;
}

void FakeNetwork::PoisonStates(const kv::StatePool& pool) {
  for (kv::StateId id = 0; id < pool.total_count(); ++id) {
    if (!pool.is_held(id)) states_[static_cast<size_t>(id)] = kPoison;
  }
}

std::string FakeNetwork::CheckSnapshots(
    const std::vector<kv::PrefixTree::SnapshotView>& snapshots) {
  for (const auto& snapshot : snapshots) {
    uint64_t hash = kStart;
    for (int64_t p = 0; p < snapshot.tokens; ++p) hash = Take(hash, Slot(snapshot.pages, p));
    if (states_[static_cast<size_t>(snapshot.state)] == hash) continue;
    return "the snapshot behind " + std::to_string(snapshot.tokens) + " tokens is of other rows";
  }
  return {};
}

void FakeNetwork::CopyPage(const kv::PageCopy& copy) {
  // Who replaces a page lets go of its window page: it is copied before others write there.
  if (window_ > 0) std::erase(*freed_windows_, copy.window_from);
  PoisonFreed();
  if (fault_ == Fault::kCopyForgotten) return;
  if (fault_ == Fault::kSharedPageWritten) written_as_[static_cast<size_t>(copy.to)] = copy.from;
  const auto last_page = static_cast<kv::PageId>(written_as_.size()) - 1;
  const kv::PageId from =
      fault_ == Fault::kCopyOfWrongPage ? std::min(copy.from + 1, last_page) : copy.from;
  int positions = copy.positions - int{fault_ == Fault::kCopyOneShort};
  if (fault_ == Fault::kStaleDraftPage) positions = kPage;
  std::copy_n(slots_.begin() + from * kPage, positions, slots_.begin() + copy.to * kPage);
  if (window_ == 0) return;
  std::copy_n(window_slots_.begin() + copy.window_from * kPage, copy.positions,
              window_slots_.begin() + copy.window_to * kPage);
}

// A window page has its numbers twice: it takes more than a page of the others.
int64_t FakeNetwork::PageBytes(kv::PageGroup group) const {
  constexpr int64_t kBytes = kPage * int64_t{sizeof(uint64_t)};
  if (group == kv::PageGroup::kFull) return kBytes;
  return window_ == 0 ? 0 : 2 * kBytes;
}

std::span<uint64_t> FakeNetwork::WindowPage(kv::PageId page) {
  return std::span(window_slots_).subspan(static_cast<size_t>(page * kPage), kPage);
}

void FakeNetwork::SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) {
  CHECK(static_cast<int64_t>(bytes.size()) == BytesOf(parts));
  if (parts.full != kv::kNoPage) {
    const auto pages = static_cast<int64_t>(slots_.size()) / kPage;
    const int64_t kept =
        fault_ == Fault::kSavedPageBeside ? (parts.full + 1) % pages : int64_t{parts.full};
    const auto page = std::as_bytes(
        std::span(slots_).subspan(static_cast<size_t>(kept * kPage), static_cast<size_t>(kPage)));
    std::copy(page.begin(), page.end(), bytes.begin());
    bytes = bytes.subspan(page.size());
  }
  if (bytes.empty()) return;
  const auto pages = static_cast<int64_t>(window_slots_.size()) / kPage;
  const int64_t kept =
      fault_ == Fault::kSavedWindowBeside ? (parts.window + 1) % pages : int64_t{parts.window};
  const auto page = std::as_bytes(WindowPage(static_cast<kv::PageId>(kept)));
  std::copy(page.begin(), page.end(), std::copy(page.begin(), page.end(), bytes.begin()));
}

// Where the two numbers of a position in a window page differ, none is left. Not of the whole page:
// what stands behind the tail of a text is anything, and the pieces of a record may be of two times
// when it was written.
void FakeNetwork::LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) {
  CHECK(static_cast<int64_t>(bytes.size()) == BytesOf(parts));
  PoisonFreed();  // the page may be one of these
  if (parts.full != kv::kNoPage) {
    const auto length = static_cast<size_t>(PageBytes(kv::PageGroup::kFull));
    if (fault_ != Fault::kRestoreForgotten) {
      std::memcpy(&slots_[static_cast<size_t>(parts.full * kPage)], bytes.data(), length);
    }
    bytes = bytes.subspan(length);
  }
  if (bytes.empty() || fault_ == Fault::kWindowRestoreForgotten) return;
  const std::span<uint64_t> page = WindowPage(parts.window);
  const auto half = bytes.first(bytes.size() / 2);
  std::memcpy(page.data(), half.data(), half.size());
  for (size_t i = 0; i < page.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i * sizeof(uint64_t));
    const auto once = half.begin() + at;
    const auto again = bytes.begin() + std::ssize(half) + at;
    if (!std::equal(once, once + sizeof(uint64_t), again)) page[i] = kPoison;
  }
  if (fault_ != Fault::kWindowRestoredElsewhere) return;
  std::vector<uint64_t> own(page.begin(), page.end());
  if (!last_window_.empty()) std::copy(last_window_.begin(), last_window_.end(), page.begin());
  last_window_ = std::move(own);
}

// The number of a state so many times that it takes more than a page has bytes for.
int64_t FakeNetwork::StateBytes() const {
  return states_.empty() ? 0 : PageBytes(kv::PageGroup::kFull) + 3 * int64_t{sizeof(uint64_t)};
}

void FakeNetwork::SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) {
  CHECK(begin + static_cast<int64_t>(bytes.size()) <= StateBytes());
  auto kept = static_cast<size_t>(state);
  if (fault_ == Fault::kSavedStateBeside) kept = (kept + 1) % states_.size();
  const auto number = std::as_bytes(std::span(&states_[kept], 1));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = number[(static_cast<size_t>(begin) + i) % number.size()];
  }
}

// Where a later part has another number than the first, none is left.
void FakeNetwork::LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) {
  CHECK(begin + static_cast<int64_t>(bytes.size()) <= StateBytes());
  if (fault_ == Fault::kStateRestoreForgotten) return;
  uint64_t& slot = states_[static_cast<size_t>(state)];
  if (begin == 0) std::memcpy(&slot, bytes.data(), sizeof(slot));
  std::vector<std::byte> expected(bytes.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] =
        std::as_bytes(std::span(&slot, 1))[(static_cast<size_t>(begin) + i) % sizeof(slot)];
  }
  if (!std::equal(bytes.begin(), bytes.end(), expected.begin())) slot = kPoison;
}

void FakeNetwork::CopyState(const kv::StateCopy& copy) {
  if (fault_ == Fault::kStateNotForked) return;
  states_[static_cast<size_t>(copy.to)] = states_[static_cast<size_t>(copy.from)];
}

uint64_t& FakeNetwork::StateOf(const model::SequenceRows& rows) {
  auto slot = static_cast<size_t>(rows.state);
  if (fault_ == Fault::kStateOfOther && rows.row_count == 1) slot = (slot + 1) % states_.size();
  return states_[slot];
}

// A row passes over the state of its sequence, which position 0 begins.
void FakeNetwork::TakeRow(const model::SequenceRows& rows, int64_t position) {
  if (states_.empty()) return;
  uint64_t& state = StateOf(rows);
  if (position == 0 && fault_ != Fault::kStateNotReset) state = kStart;
  const uint64_t number = Slot(rows.pages.full, position);
  state = Take(state, number);
  const bool is_last = position + 1 == rows.first_position + rows.row_count;
  if (fault_ == Fault::kRowAppliedTwice && is_last && rows.row_count > 1) {
    state = Take(state, number);
  }
}

uint64_t FakeNetwork::WithState(const model::SequenceRows& rows, uint64_t hash) {
  if (states_.empty() || StateOf(rows) == hash) return hash;
  return Take(hash, StateOf(rows));
}

uint64_t& FakeNetwork::Slot(std::span<const kv::PageId> pages, int64_t position) {
  return slots_[static_cast<size_t>(pages[static_cast<size_t>(position / kPage)] * kPage +
                                    position % kPage)];
}

uint64_t& FakeNetwork::WindowSlot(const kv::PageLists& pages, int64_t position) {
  const kv::PageId page = pages.window[static_cast<size_t>(position / kPage)];
  if (page == kv::kNoPage) return lost_ = kPoison;
  return window_slots_[static_cast<size_t>(page * kPage + position % kPage)];
}

uint64_t FakeNetwork::WithWindow(const kv::PageLists& pages, int64_t position, uint64_t hash) {
  if (window_ == 0) return hash;
  const int64_t first = std::max<int64_t>(0, position - window_ + 1);
  const auto look = [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const uint64_t number = WindowSlot(pages, p);
      if (number != Slot(pages.full, p)) hash = Take(hash, number);
    }
  };
  look(0, std::min(pinned_, first));
  look(first, position + 1);
  return hash;
}

uint64_t FakeNetwork::ReadAll(std::span<const kv::PageId> pages, int64_t position) {
  uint64_t hash = kStart;
  const int64_t first = fault_ == Fault::kReadOneTooFew ? 1 : 0;
  const bool one_more = fault_ == Fault::kReadOneTooMany && (position + 1) % kPage != 0;
  for (int64_t p = first; p <= position + int64_t{one_more}; ++p) {
    hash = Take(hash, Slot(pages, p));
  }
  return hash;
}

void FakeNetwork::WriteRow(const model::SequenceRows& rows, int64_t position, TokenId token) {
  const uint64_t before = position == 0 ? kStart : Slot(rows.pages.full, position - 1);
  const uint64_t number = Chain(before, token, position, namespace_of_(rows.pages.full.data()));
  const bool shifted = fault_ == Fault::kWriteShifted && (position + 1) % kPage != 0;
  std::array<kv::PageId, 1> page = {rows.pages.full[static_cast<size_t>(position / kPage)]};
  if (fault_ == Fault::kSharedPageWritten) page[0] = written_as_[static_cast<size_t>(page[0])];
  uint64_t& slot = Slot(page, position % kPage + int64_t{shifted});
  const bool keeps = fault_ == Fault::kStaleAfterRejection || fault_ == Fault::kStaleDraftPage;
  if (keeps && slot != kPoison) return;
  slot = number;
  if (window_ > 0) WindowSlot(rows.pages, position) = number;
}

// What is wanted of a row, if anything is.
void FakeNetwork::FillOutputs(const model::StepBatch& batch, int32_t row, uint64_t hash) {
  const auto fill = [&](std::span<const int32_t> rows, std::vector<float>* values) {
    const auto found = std::lower_bound(rows.begin(), rows.end(), row);
    if (found == rows.end() || *found != row) return;
    const auto index = static_cast<size_t>(found - rows.begin());
    FillLogits(hash, std::span(*values).subspan(index * kVocab, kVocab));
  };
  fill(batch.logit_rows, &logits_);
  fill(batch.hidden_rows, &hidden_);
}

void FakeNetwork::Forward(const model::StepBatch& batch) {
  PoisonFreed();
  logits_.resize(batch.logit_rows.size() * kVocab);
  logit_rows_ = static_cast<int64_t>(batch.logit_rows.size());
  hidden_.resize(batch.hidden_rows.size() * kVocab);
  row_count_ += batch.row_count();
  int32_t row = 0;
  int64_t next_output = 0;
  for (model::SequenceRows rows : batch.sequences) {
    std::vector<kv::PageId> swapped;
    if (fault_ == Fault::kPagesSwapped && rows.pages.full.size() > 2 && rows.row_count == 1) {
      swapped.assign(rows.pages.full.begin(), rows.pages.full.end());
      std::swap(swapped[0], swapped[1]);
    }
    for (int64_t i = 0; i < rows.row_count; ++i, ++row) {
      const int64_t position = rows.first_position + i;
      WriteRow(rows, position, batch.tokens[static_cast<size_t>(row)]);
      TakeRow(rows, position);
      if (next_output == batch.output_count() || batch.output_row(next_output) != row) continue;
      ++next_output;
      const uint64_t hash = ReadAll(swapped.empty() ? rows.pages.full : swapped, position);
      FillOutputs(batch, row, WithState(rows, WithWindow(rows.pages, position, hash)));
    }
  }
}

std::span<const float> FakeNetwork::Logits(int64_t index) const {
  const int64_t row = fault_ == Fault::kLogitsOfOtherRow ? (index + 1) % logit_rows_ : index;
  return std::span(logits_).subspan(static_cast<size_t>(row * kVocab), kVocab);
}

std::span<const float> FakeNetwork::Hidden(int64_t index) const {
  return std::span(hidden_).subspan(static_cast<size_t>(index * kVocab), kVocab);
}

void FakeNetwork::TurnToLogits(int64_t first, int64_t count) {
  const int64_t shift = fault_ == Fault::kPromptRowShifted && first > 0 ? 1 : 0;
  const auto from = hidden_.begin() + (first - shift) * kVocab;
  logits_.assign(from, from + count * kVocab);
  logit_rows_ = count;
}

std::span<const float> FakeDraftNetwork::Logits(int64_t index) const {
  FillDraftLogits(FakeNetwork::Logits(index), draft_logits_);
  return draft_logits_;
}

int64_t FakeNetwork::TakeRowCount() { return std::exchange(row_count_, 0); }

}  // namespace skald::sim
