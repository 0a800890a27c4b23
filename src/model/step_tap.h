/// StepTap: what a forward pass shows of itself on its way, for tools that explain a run.
///
/// The pass shows it what it has just computed, or has just given to a kernel; the tap copies what
/// it was made for, or computes it again, and keeps it until somebody takes it. It writes to
/// nothing that the pass reads, so no bit depends on it. It takes memory and time in each step: no
/// server has one, and without one each place costs a comparison with null.
///
/// Positions are those of the first sequence of the step: who explains a run has one.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/attention/attention.h"
#include "model/execution.h"
#include "model/profile.h"
#include "model/step_batch.h"
#include "model/value_summary.h"
#include "model/workspace.h"

namespace skald::model {

/// What a tap keeps.
struct TapWishes {
  bool attention = false;  ///< HeadWeights
  bool depth = false;      ///< DepthRow
  bool experts = false;    ///< ChosenExperts
  bool values = false;     ///< PartValues

  bool any() const { return attention || depth || experts || values; }
};

/// How one query head of one row shares its attention.
struct HeadWeights {
  StepPart part = {};               ///< the mixer
  int64_t head = 0;                 ///< query head, counted through all ranks
  int64_t position = 0;             ///< of the row
  int64_t first_key = 0;            ///< position of weights[0]; none before it is seen
  bool has_sink = false;            ///< the weights add up to less than 1: the rest is the sink's
  std::vector<float> weights = {};  ///< by position
};

/// What stands behind a layer, of a row that a token is drawn from: the residual stream with all
/// that is still to be added to it, or all streams of a network that has several
/// (Transformer::DepthWidth floats).
struct DepthRow {
  int64_t layer = 0;
  int64_t position = 0;
  std::vector<float> stream = {};
};

/// The experts that a router chose for a row.
struct ChosenExperts {
  StepPart part = {};  ///< the feed-forward
  int64_t position = 0;
  std::vector<int32_t> experts = {};  ///< ascending
  std::vector<float> weights = {};    ///< of each; of what it gives, or of what it reads
};

/// What values are to the part of the step that they belong to.
enum class ValueRole : uint8_t {
  kResult,  ///< what it gave: the embedding the residual stream, a block of a layer what it adds to
            ///< that, the head the logits
  kQuery,   ///< of a mixer, as attention, the delta rule or a scan (C) reads it (MLA turns queries
            ///< later)
  kKey,     ///< likewise, as it goes into pages or the state (B of a scan)
  kValue,   ///< likewise (x of a scan)
  kLatent,  ///< of MLA, as it goes into pages: keys and values are made of it
  kStream,  ///< the residual stream behind the layer whose last block this is, as DepthRow has it
};

/// Values that stood somewhere in the step. Where a network is split, those of this rank.
struct PartValues {
  StepPart part = {};
  ValueRole role = ValueRole::kResult;
  int64_t rows = 0;
  int64_t width = 0;
  ValueSummary summary = {};
};

/// All of it, each by part, position and head.
struct Tapped {
  std::vector<HeadWeights> attention = {};
  std::vector<DepthRow> depth = {};
  std::vector<ChosenExperts> experts = {};
  std::vector<PartValues> values = {};
};

class StepTap {
 public:
  explicit StepTap(const TapWishes& wishes) : wishes_(wishes) {}

  const TapWishes& wishes() const { return wishes_; }

  /// What is shown from now on is of this step.
  void Begin(const StepBatch& batch);

  /// `args` as they were given to the kernel, whose scratch may be overwritten; all their rows, and
  /// heads from `first_head` on. Any worker, each with its own scratch.
  void SeeAttention(const StepPart& part, int64_t first_head, const kernels::AttentionArgs& args);

  /// What stands behind a layer, of the row at `position`.
  void SeeDepth(DepthRow row);

  /// `used` experts and their weights of each of `rows` rows: of all rows of the step, or behind
  /// the last mixer of those of which something is wanted.
  void SeeExperts(const StepPart& part, int64_t rows, std::span<const int32_t> chosen,
                  std::span<const float> weights);

  /// `values` without a summary; that is made of the first `width` floats of each of its rows.
  void SeeValues(PartValues values, const Rows& rows);

  /// The heads that another rank has shown to its tap, as if they had been shown to this one.
  void AddHeads(std::vector<HeadWeights> heads);

  /// What was shown since the last call. While no step runs.
  Tapped Take();

 private:
  int64_t PositionOf(int64_t row, int64_t rows) const;

  const TapWishes wishes_;
  std::vector<int64_t> output_positions_;  // of the step
  int64_t first_position_ = 0;
  int64_t rows_ = 0;

  std::mutex mutex_;
  Tapped seen_;  // guarded by mutex_
};

/// Whether somebody looks at values.
bool AreValuesWanted(const Execution& execution);

/// Shows what the part that runs has just computed, the first `width` floats of each of `row_count`
/// rows, if somebody looks at values.
void ShowValues(ValueRole role, const Rows& rows, int64_t row_count, int64_t width,
                const Execution& execution);

}  // namespace skald::model
