/// FakeNetwork: a model without arithmetic, that notices every wrong byte of its cache.
///
/// A slot of a page holds one number: a hash of the token, its position, the namespace of its
/// sequence, and the number that stands in the slot of the position before, read through the page
/// table. The logits of a row, and its hidden state, are a hash of all slots up to its own, read
/// through the page table. So a slot that is stale, shifted, shared while written, or of another
/// namespace changes tokens.
///
/// A network with states also keeps, in the state slot of each sequence, the hash of the rows so
/// far, taken one after the other. Where it is not that of the pages, tokens change.
///
/// One with windows keeps the numbers in window pages as well. A row reads those that it sees there
/// too, and where one is not that of the page, tokens change.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/network.h"
#include "kv/prefix_tree.h"
#include "kv/state_pool.h"
#include "sim/fault.h"

namespace skald::sim {

/// Small: prompts collide, and sampling costs little.
inline constexpr int64_t kVocab = 12;
/// The model's own end of text.
inline constexpr TokenId kEnd = 0;

/// The number of a position, given that of the position before (kStart for none).
inline constexpr uint64_t kStart = 0x5ca1ab1e;
uint64_t Chain(uint64_t before, TokenId token, int64_t position, uint64_t cache_namespace);

/// A hash of the numbers of positions 0, 1, ...: start with kStart, take each in order.
uint64_t Take(uint64_t hash, uint64_t number);

/// Logits from such a hash.
void FillLogits(uint64_t hash, std::span<float> logits);

/// What a draft model says where the model says `logits`: mostly the same in weaker words, in one
/// row of four the opposite.
void FillDraftLogits(std::span<const float> logits, std::span<float> draft_logits);

class FakeNetwork : public engine::Network {
 public:
  /// Given the list of pages of a sequence, tells its namespace.
  using NamespaceOf = std::function<uint64_t(const kv::PageId* pages)>;

  /// `freed` is the list that the pool fills (PagePool::RecordFreed): its pages are poisoned before
  /// anything is written.
  FakeNetwork(int64_t page_count, std::vector<kv::PageId>* freed, Fault fault,
              int64_t state_slots = 0);
  /// Gives it layers with windows. `freed` is as above, of window pages.
  void SetWindows(const kv::WindowLimits& windows, std::vector<kv::PageId>* freed);
  void SetNamespaceOf(NamespaceOf namespace_of) { namespace_of_ = std::move(namespace_of); }

  void CopyPage(const kv::PageCopy& copy) override;
  int64_t PageBytes(kv::PageGroup group) const override;
  void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) override;
  void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) override;
  int64_t StateBytes() const override;
  void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) override;
  void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) override;
  void CopyState(const kv::StateCopy& copy) override;
  void Forward(const model::StepBatch& batch) override;
  std::span<const float> Logits(int64_t index) const override;
  std::span<const float> Hidden(int64_t index) const override;
  void TurnToLogits(int64_t first, int64_t count) override;
  float Score(std::span<const float> state) override { return state.front(); }

  /// Fills freed pages with what no hash gives.
  void PoisonFreed();
  /// The same for the slots that nobody has.
  void PoisonStates(const kv::StatePool& pool);
  /// Empty, or that a snapshot is not what the rows of its place make.
  std::string CheckSnapshots(const std::vector<kv::PrefixTree::SnapshotView>& snapshots);
  /// Rows computed since the last question.
  int64_t TakeRowCount();

 private:
  void FillOutputs(const model::StepBatch& batch, int32_t row, uint64_t hash);
  uint64_t& Slot(std::span<const kv::PageId> pages, int64_t position);
  std::span<uint64_t> WindowPage(kv::PageId page);
  uint64_t& WindowSlot(const kv::PageLists& pages, int64_t position);
  uint64_t WithWindow(const kv::PageLists& pages, int64_t position, uint64_t hash);
  uint64_t ReadAll(std::span<const kv::PageId> pages, int64_t position);
  void WriteRow(const model::SequenceRows& rows, int64_t position, TokenId token);
  uint64_t& StateOf(const model::SequenceRows& rows);
  void TakeRow(const model::SequenceRows& rows, int64_t position);
  uint64_t WithState(const model::SequenceRows& rows, uint64_t hash);

  Fault fault_;
  NamespaceOf namespace_of_;
  std::vector<kv::PageId>* freed_;
  std::vector<uint64_t> slots_;         // 32 a page
  std::vector<uint64_t> states_;        // by state slot
  int64_t window_ = 0;                  // positions that a row sees of window pages
  int64_t pinned_ = 0;                  // and the first of the text
  std::vector<uint64_t> window_slots_;  // 32 a window page
  std::vector<kv::PageId>* freed_windows_ = nullptr;
  uint64_t lost_ = 0;                   // what is found where there is no window page
  std::vector<kv::PageId> written_as_;  // where writes to a page go: itself, but for a fault
  std::vector<float> logits_;           // of all logit rows
  std::vector<float> hidden_;           // of all hidden rows, as many numbers each
  int64_t logit_rows_ = 0;
  int64_t row_count_ = 0;
  std::vector<uint64_t> last_window_;  // that was put into memory last, for a fault
};

/// The draft model of a FakeNetwork.
class FakeDraftNetwork : public FakeNetwork {
 public:
  using FakeNetwork::FakeNetwork;
  std::span<const float> Logits(int64_t index) const override;

 private:
  mutable std::array<float, kVocab> draft_logits_ = {};  // of the row asked for last
};

}  // namespace skald::sim
