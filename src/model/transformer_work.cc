#include <array>

#include "model/blocks/gathered.h"
#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"
#include "model/transformer.h"

namespace skald::model {
namespace {

using WorkOfPart = FunctionRef<StepWork&(const StepPart& part)>;

// A walk over the parts of a step, in the order of Transformer::Forward.
class WorkWalk {
 public:
  WorkWalk(const Network& network, const MixerShape& shape, WorkOfPart work_of)
      : network_(network), shape_(shape), work_of_(work_of) {}

  void Embed() {
    const int64_t rows = shape_.step.rows;
    const auto panel_bytes = static_cast<double>(network_.embedding.panel_bytes());
    const double each = row_bytes() + panel_bytes / kernels::kPanelRows;
    work_of_({PartKind::kEmbedding})
        .Add({.phase = Phase::kEmbed,
              .matrix = &network_.embedding,
              .input = {rows},
              .other = {network_.vocab, network_.width},
              .output = {rows, network_.width},
              .work = {.bytes = static_cast<double>(rows) * each}});
    if (network_.layer_inputs.exist()) {
      AddWork(network_.layer_inputs, rows, work_of_({PartKind::kLayerInputs}));
    }
    if (network_.streams.exist()) {
      AddWork(network_.streams, shape_.step, work_of_({PartKind::kStreams}));
    }
  }

  void Mix(const Mixer& mixer, const StepPart& part, int64_t rows_kept) {
    if (!Exists(mixer)) return;
    StepWork& work = Begin(part);
    const MixerShape shape = {shape_.step, rows_kept, shape_.layout};
    std::visit([&](const auto& block) { AddWork(block, shape, work); }, mixer);
  }

  // What a layer does with rows by themselves.
  void FeedForward(const Layer& layer, int64_t index, int64_t rows) {
    if (layer.laurel) AddWork(*layer.laurel, rows, work_of_({PartKind::kLaurel, index}));
    if (Exists(layer.feed_forward)) {
      StepWork& work = Begin({PartKind::kFeedForward, index});
      std::visit([&](const auto& block) { AddWork(block, rows, work); }, layer.feed_forward);
      LeaveSum(rows);
    }
    if (layer.alt_up) AddWork(*layer.alt_up, rows, work_of_({PartKind::kAltUp, index}));
    if (!layer.input) return;
    AddWork(*layer.input, rows, Begin({PartKind::kLayerInput, index}));
    LeaveSum(rows);
  }

  void Head() {
    const StepShape& step = shape_.step;
    // Rows without logits are added up where they are normed.
    const Phase sum_phase = step.logit_rows > 0 ? Phase::kPrepare : Phase::kHead;
    StepWork& work = Begin({PartKind::kHead}, sum_phase);
    if (step.logit_rows > 0) {
      AddWork(std::array{&network_.head.weights}, step.logit_rows, Phase::kHead, work);
      AddGather(PartOf(network_.head.rows, network_.vocab), step.logit_rows, work);
    }
    // Normed: read and written.
    work[Phase::kHead].bytes += static_cast<double>(step.hidden_rows) * 2 * row_bytes();
    const HiddenProjection& projection = network_.hidden_projection;
    if (step.hidden_rows == 0 || !projection.exists()) return;
    for (const auto* matrix : {&projection.first, &projection.second}) {
      AddWork(std::array{matrix}, step.hidden_rows, Phase::kHead, work);
    }
  }

  // What a block gives to the residual stream is added by the one behind it.
  void LeaveSum(int64_t rows) { sum_rows_ = rows; }

 private:
  double row_bytes() const { return double{sizeof(float)} * static_cast<double>(network_.width); }

  StepWork& Begin(const StepPart& part, Phase sum_phase = Phase::kPrepare) {
    StepWork& work = work_of_(part);
    // Two operands read, one written over the first.
    work[sum_phase].bytes += static_cast<double>(sum_rows_) * 2 * row_bytes();
    sum_rows_ = 0;
    return work;
  }

  const Network& network_;
  const MixerShape shape_;
  WorkOfPart work_of_;  // the walk ends before the call that it was passed to
  int64_t sum_rows_ = 0;
};

}  // namespace

void VisitWork(const Network& network, const kv::KvLayout& layout, const StepShape& shape,
               FunctionRef<StepWork&(const StepPart& part)> work_of) {
  WorkWalk walk(network, {shape, shape.rows, layout}, work_of);
  walk.Embed();
  const int64_t last_mixing = LastMixingLayer(network);
  for (int64_t index = 0; index < static_cast<int64_t>(network.layers.size()); ++index) {
    const Layer& layer = network.layers[static_cast<size_t>(index)];
    // Behind the last mixer only those rows go on of which something is wanted.
    const int64_t kept = index < last_mixing ? shape.rows : shape.output_rows();
    const bool two = Exists(layer.beside);
    walk.Mix(layer.mixer, {PartKind::kMixer, index}, two ? shape.rows : kept);
    if (two) {
      walk.LeaveSum(kept);
      walk.Mix(layer.beside, {PartKind::kBeside, index}, kept);
    }
    if (kept == 0) return;
    if (Exists(layer.mixer)) walk.LeaveSum(kept);
    walk.FeedForward(layer, index, kept);
  }
  walk.Head();
}

void AddWork(const Network& network, const kv::KvLayout& layout, const StepShape& shape,
             StepWork& work) {
  VisitWork(network, layout, shape, [&](const StepPart&) -> StepWork& { return work; });
}

}  // namespace skald::model
