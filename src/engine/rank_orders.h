/// RankOrders: what the first rank tells the others of a model whose ranks are processes: the calls
/// of Runner as bytes.
///
/// Each order begins with the number of its runner. Lists of pages are sent whole in every step:
/// four bytes for a page of 32 positions are nothing beside reading what stands in it. Who reads
/// believes nothing: what would reach beyond what the runner has is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "engine/options.h"
#include "kv/page_id.h"
#include "kv/state_id.h"
#include "model/network.h"
#include "model/step_batch.h"
#include "ranks/group.h"
#include "skald/engine_plan.h"
#include "skald/status.h"

namespace skald::engine {

/// Behind those of load (load/load_order.h).
enum RankOrder : uint32_t {
  kMakeRunner = ranks::Group::kFirstOrder + 1,  ///< answered by RunnerFacts
  kDropRunner,
  kForward,
  kTurnToLogits,
  kTurnDepthToLogits,  ///< the rows themselves
  kCopyPage,
  kCopyState,
  kSavePage,  ///< answered by its bytes
  kLoadPage,
  kSaveState,  ///< answered by its bytes
  kLoadState,
  kPoison,
  kPoisonState,
  kHashResidual,  ///< answered by 32 bytes (ModelNetwork::HashResidual)
};

/// What a rank answers of the runner it has made.
struct RunnerFacts {
  EngineMemory memory = {};
  int64_t page_bytes = 0;
  int64_t window_page_bytes = 0;
  int64_t state_bytes = 0;
};
void Write(const RunnerFacts& facts, ByteWriter* writer);
/// Errors here and below: kInvalidArgument.
Result<RunnerFacts> ReadRunnerFacts(std::span<const std::byte> bytes);

/// Those that the sizes of a runner follow from, with the threads of one rank.
void Write(const ResolvedOptions& options, ByteWriter* writer);
/// Of an instruction set that this processor lacks it takes the best that it has: no bit depends on
/// it.
Result<ResolvedOptions> ReadOptions(ByteReader* reader);

/// A step, with the memory that its lists point to; used again and again.
class StepOrder {
 public:
  static void Write(const model::StepBatch& batch, ByteWriter* writer);
  /// What a runner of these options and this network can compute without reaching beyond what it
  /// has.
  Status Read(ByteReader* reader, const ResolvedOptions& options, const model::Network& network);
  model::StepBatch batch() const;

 private:
  // How long the lists of a sequence are in pages_.
  struct Place {
    size_t full = 0;
    size_t window = 0;
    bool same = false;  // one list is both
  };

  static Status ReadRows(ByteReader* reader, std::vector<int32_t>* rows);
  Status ReadSequence(ByteReader* reader);
  void PointToPages();
  bool Fits(const ResolvedOptions& options, const model::Network& network) const;

  std::vector<TokenId> tokens_;
  std::vector<model::SequenceRows> sequences_;
  std::vector<Place> places_;
  std::vector<kv::PageId> pages_;  // of all lists
  std::vector<int32_t> logit_rows_;
  std::vector<int32_t> hidden_rows_;
};

void Write(const kv::PageCopy& copy, ByteWriter* writer);
Result<kv::PageCopy> ReadPageCopy(ByteReader* reader, const ResolvedOptions& options);
void Write(const kv::StateCopy& copy, ByteWriter* writer);
Result<kv::StateCopy> ReadStateCopy(ByteReader* reader, const ResolvedOptions& options);

/// What came is none of these.
Status NoRankOrder();

}  // namespace skald::engine
