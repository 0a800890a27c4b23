#include "model/transformer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "model/blocks/attention.h"
#include "model/blocks/gathered.h"
#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"
#include "model/step_tap.h"

namespace skald::model {
namespace {

void Scale(float factor, float* x, int64_t n) {
  if (factor == 1) return;
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor;
}

// What is added to the embedding of a token, and the norm of the sum.
void AddToEmbedding(const Network& network, const StepRow& row, float* x,
                    const kernels::KernelTable& kernels) {
  const int64_t width = network.width;
  const int64_t position = row.position;
  const int64_t second = row.sequence->second_text;
  const bool is_of_second = second > 0 && position >= second && network.token_types > 1;
  if (network.token_types > 0) {
    const float* types = network.token_type_embedding.data();
    kernels.add(types + (is_of_second ? width : 0), x, width);
  }
  if (network.positions == Positions::kLearned) {
    kernels.add(network.position_embedding.data() + position * width, x, width);
  }
  if (!network.embedding_norm.exists()) return;
  Normalize(network.embedding_norm,
            {.x = x, .x_stride = width, .y = x, .y_stride = width, .rows = 1, .n = width}, kernels);
}

// What a part has just given, to who looks.
void Show(const Rows& rows, int64_t row_count, int64_t width, const Context& context) {
  ShowValues(ValueRole::kResult, rows, row_count, width, context.execution);
}

// What is timed from here on belongs to the part.
void Enter(PartKind kind, int64_t layer, const Context& context) {
  if (context.execution.profile == nullptr) return;
  context.execution.profile->Enter({.kind = kind, .layer = layer});
}

// The residual stream starts as the embedding of each token (numerics 3.8).
void Embed(const Network& network, const StepBatch& batch, const Context& context) {
  Enter(PartKind::kEmbedding, kNoLayer, context);
  const ScopedPhase phase(context.execution.profile, Phase::kEmbed);
  context.execution.pool.Run(batch.row_count(), [&](int64_t row, int) {
    float* x = context.workspace.residual.row(row);
    kernels::UnpackRow(network.embedding, batch.tokens[static_cast<size_t>(row)], x);
    Scale(network.embedding_scale, x, network.width);
    AddToEmbedding(network, FindRow(batch, row), x, context.execution.kernels);
  });
}

// What its layers are told of each token.
void RunLayerInputs(const Network& network, const StepBatch& batch, const Context& context) {
  if (!network.layer_inputs.exist()) return;
  Enter(PartKind::kLayerInputs, kNoLayer, context);
  Run(network.layer_inputs, batch, context);
}

// The window page of the first position that its rows see is there, and so are those behind it; and
// the first of the pinned ones.
bool HasItsWindow(const SequenceRows& sequence, const kv::KvLayout& layout) {
  if (layout.window == 0) return true;
  const int64_t first = std::max<int64_t>(0, sequence.first_position - layout.window + 1);
  const auto& pages = sequence.pages.window;
  return pages.size() == sequence.pages.full.size() &&
         pages[static_cast<size_t>(first / kernels::kPageTokens)] != kv::kNoPage &&
         (layout.pinned == 0 || pages.front() != kv::kNoPage);
}

void CheckBatch(const Network& network, const StepBatch& batch, const Context& context) {
  const int64_t state_floats = StateFloatsOf(network);
  const bool carries = state_floats > 0;
  CHECK(!carries || (context.states != nullptr && context.states->shape().floats == state_floats));
  const StepLimits& limits = context.workspace.limits();
  CHECK(batch.row_count() <= limits.rows);
  CHECK(static_cast<int64_t>(batch.logit_rows.size()) <= limits.logit_rows);
  CHECK(batch.logit_rows.empty() || batch.hidden_rows.empty() ||
        batch.logit_rows.back() < batch.hidden_rows.front());
  CHECK(context.execution.pool.thread_count() <= limits.threads);
  const bool whole = NeedsWholeTexts(network);
  int64_t rows = 0;
  for (const SequenceRows& sequence : batch.sequences) {
    const int64_t end = sequence.first_position + sequence.row_count;
    CHECK(sequence.row_count > 0 && sequence.first_position >= 0);
    CHECK(!whole || sequence.first_position == 0);
    CHECK(!carries || sequence.state != kv::kNoState);
    for (const RopeTable& rope : context.ropes) CHECK(end <= rope.positions());
    CHECK(network.positions == Positions::kNone || end <= network.context);
    CHECK(end <= static_cast<int64_t>(sequence.pages.full.size()) * kernels::kPageTokens);
    CHECK(HasItsWindow(sequence, context.store.layout()));
    rows += sequence.row_count;
  }
  CHECK(rows == batch.row_count());
}

// Where a forward pass is: in which layer, how many rows stand at the front of the residual stream,
// what the last block gave, which still has to be added to them, and the place of the next mixer.
struct Flow {
  int64_t layer = kNoLayer;
  int64_t rows = 0;
  Addend pending = {};
  LayerPlace place = {};
};

// What a block gives to the residual stream.
Addend AddendOf(const Network& network, const Norm& norm, const Workspace& space) {
  return {.rows = space.projected, .norm = &norm, .scale = network.residual_scale};
}

// The same where the sum may be normed.
Addend AddendOf(const Network& network, const Norm& norm, const Norm& sum_norm,
                const Workspace& space) {
  Addend addend = AddendOf(network, norm, space);
  addend.sum_norm = &sum_norm;
  return addend;
}

// What a block reads: the residual stream, to which the result of the block before is added on the
// way, normed. Only the first block finds nothing to add.
Input InputOf(const Norm& norm, const Flow& flow, const Workspace& space) {
  return {.rows = space.residual,
          .row_count = flow.rows,
          .addend = flow.pending,
          .norm = &norm,
          .normed = norm.exists() ? space.normed : Rows{}};
}

// What a block reads that shares its input with the one before: what that one has read stands there
// still, for no mixer writes to it.
Input SharedInput(const Norm& norm, const Flow& flow, const Workspace& space) {
  Input input = InputOf(norm, flow, space);
  input.norm = nullptr;
  return input;
}

// One mixer, on what `input` brings.
struct MixerRun {
  const Layer& layer;
  const Mixer& mixer;
  Input input;
  RowsKept kept;
};

// A part of a layer's states that a thread copies at a time, while it fits the second-level cache.
constexpr int64_t kCopyFloats = 16 * 1024;

// What sequences go on from, of the states of one mixer. Here and not before the step: the mixer
// finds in the caches what it would have read from memory anyway, so that a copy costs the step
// little more than its writes.
void MakeStateCopies(int64_t first, int64_t floats, const Context& context) {
  if (floats == 0 || !context.states->HasCopies()) return;
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  context.execution.pool.Run(DivCeil(floats, kCopyFloats), [&](int64_t unit, int) {
    const int64_t from = unit * kCopyFloats;
    context.states->MakeCopies(first + from, std::min(kCopyFloats, floats - from));
  });
}

void RunMixer(const Network& network, const MixerRun& run, const StepBatch& batch,
              const Context& context, Flow* flow) {
  const LayerPlace behind = Behind(run.mixer, flow->place);
  const int64_t first_float = flow->place.state_floats;
  MakeStateCopies(first_float, behind.state_floats - first_float, context);
  std::visit(
      [&](const auto& mixer) {
        Run(mixer, run.input, {batch, flow->place, run.kept}, context);
      },
      run.mixer);
  flow->place = behind;
  flow->pending =
      AddendOf(network, run.layer.mixer_output_norm, run.layer.mixer_sum_norm, context.workspace);
}

// The rows of a mixer's result.
int64_t RowsKeptOf(RowsKept kept, const StepBatch& batch) {
  return kept == RowsKept::kAll ? batch.row_count() : batch.output_count();
}

void RunMixers(const Network& network, const Layer& layer, RowsKept kept, const StepBatch& batch,
               const Context& context, Flow* flow) {
  if (!Exists(layer.mixer)) return;
  const Workspace& space = context.workspace;
  // A second one adds what the first gave to all rows, also where few of them go on.
  const bool two = Exists(layer.beside);
  const Input first = InputOf(layer.mixer_norm, *flow, space);
  Enter(PartKind::kMixer, flow->layer, context);
  const RowsKept first_kept = two ? RowsKept::kAll : kept;
  RunMixer(network, {layer, layer.mixer, first, first_kept}, batch, context, flow);
  Show(space.projected, RowsKeptOf(first_kept, batch), network.width, context);
  if (!two) return;
  const Input second = SharedInput(layer.mixer_norm, *flow, space);
  Enter(PartKind::kBeside, flow->layer, context);
  RunMixer(network, {layer, layer.beside, second, kept}, batch, context, flow);
  Show(space.projected, RowsKeptOf(kept, batch), network.width, context);
}

void RunFeedForward(const Network& network, const Layer& layer, const Context& context,
                    Flow* flow) {
  if (!Exists(layer.feed_forward)) return;
  Enter(PartKind::kFeedForward, flow->layer, context);
  const Workspace& space = context.workspace;
  const Input input = layer.order == LayerOrder::kParallel
                          ? SharedInput(layer.mixer_norm, *flow, space)
                          : InputOf(layer.feed_forward_norm, *flow, space);
  std::visit([&](const auto& block) { Run(block, input, context); }, layer.feed_forward);
  Show(space.projected, flow->rows, network.width, context);
  flow->pending =
      AddendOf(network, layer.feed_forward_output_norm, layer.feed_forward_sum_norm, space);
}

void RunLaurel(const Layer& layer, const Context& context, Flow* flow) {
  if (!layer.laurel) return;
  Enter(PartKind::kLaurel, flow->layer, context);
  const Workspace& space = context.workspace;
  Run(*layer.laurel, SharedInput(layer.mixer_norm, *flow, space), context);
  flow->pending = {.rows = space.projected, .sum_scale = static_cast<float>(1 / std::sqrt(2.0))};
}

void OpenStreams(const Network& network, const Flow& flow, const Context& context) {
  if (!network.streams.exist()) return;
  Enter(PartKind::kStreams, kNoLayer, context);
  Open(network.streams, flow.rows, context);
}

void CloseStreams(const Network& network, const Flow& flow, const Context& context) {
  if (!network.streams.exist() || flow.rows == 0) return;
  Enter(PartKind::kStreams, kNoLayer, context);
  Close(network.streams, flow.rows, context);
}

void RunPrediction(const Layer& layer, const Context& context, const Flow& flow) {
  if (!layer.alt_up) return;
  Enter(PartKind::kAltUp, flow.layer, context);
  Predict(*layer.alt_up, flow.rows, context);
}

// What a layer leaves in streams, and in the residual stream for its input.
void RunCorrection(const Layer& layer, const Context& context, Flow* flow) {
  if (!layer.alt_up) return;
  Enter(PartKind::kAltUp, flow->layer, context);
  Correct(*layer.alt_up,
          {.rows = context.workspace.residual, .row_count = flow->rows, .addend = flow->pending},
          context);
  flow->pending = {};
}

void RunLayerInput(const Network& network, const Layer& layer, const Context& context, Flow* flow) {
  if (!layer.input) return;
  Enter(PartKind::kLayerInput, flow->layer, context);
  const Workspace& space = context.workspace;
  Run(*layer.input, {.rows = space.residual, .row_count = flow->rows, .addend = flow->pending},
      context);
  if (layer.alt_up) {
    AddToStreams(*layer.alt_up, layer.input_output_norm, flow->rows, context);
    flow->pending = {};
    return;
  }
  flow->pending = AddendOf(network, layer.input_output_norm, space);
}

// Leaves the rows of which something is wanted, at the front.
void CutRows(const Network& network, const Layer& layer, const StepBatch& batch,
             const Workspace& space, Flow* flow) {
  flow->rows = batch.output_count();
  MoveOutputRows(batch, network.width, space.residual);
  const bool reads_again = layer.order == LayerOrder::kParallel || layer.laurel;
  if (reads_again) MoveOutputRows(batch, network.width, space.normed);
  const LayerInputs& inputs = network.layer_inputs;
  if (inputs.exist()) MoveOutputRows(batch, inputs.row_width(), space.layer_inputs);
  const Streams& streams = network.streams;
  if (streams.exist()) MoveOutputRows(batch, streams.count * streams.stride(), space.streams);
}

// What stands behind a layer of the row at `row`, as a tap keeps it.
std::vector<float> DepthOf(const Network& network, const Flow& flow, int64_t row,
                           const Context& context) {
  const Workspace& space = context.workspace;
  const Streams& streams = network.streams;
  if (streams.exist()) {
    const float* all = space.streams.row(row);
    return {all, all + streams.count * streams.stride()};
  }
  const float* x = space.residual.row(row);
  std::vector<float> sum(x, x + network.width);
  if (flow.pending.rows.data == nullptr) return sum;
  // The sum that the next block will make, with copies of both: it norms them where they stand.
  const float* added = flow.pending.rows.row(row);
  std::vector<float> addend(added, added + network.width);
  Input input = {.rows = {sum.data(), network.width}, .row_count = 1, .addend = flow.pending};
  input.addend.rows = {addend.data(), network.width};
  AddAndNorm(input, {0, 1}, network.width, context.execution);
  return sum;
}

// The rows whose logits are wanted, behind a layer, to who looks. Hidden rows are those of texts
// that are scored: a token is drawn from the last of them alone.
void ShowDepth(const Network& network, const StepBatch& batch, const Flow& flow,
               const Context& context) {
  StepTap* tap = context.execution.tap();
  if (tap == nullptr || !tap->wishes().depth) return;
  const bool are_cut = flow.rows < batch.row_count();
  const int64_t count = batch.output_count();
  for (int64_t i = 0; i < count; ++i) {
    if (i >= std::ssize(batch.logit_rows) && i + 1 < count) continue;
    const int64_t row = batch.output_row(i);
    tap->SeeDepth({.layer = flow.layer,
                   .position = FindRow(batch, row).position,
                   .stream = DepthOf(network, flow, are_cut ? i : row, context)});
  }
}

// The residual stream of all rows behind a layer, or all streams, to who looks. It stands nowhere
// until the next block makes the sum.
void ShowStream(const Network& network, const Flow& flow, const Context& context) {
  if (!AreValuesWanted(context.execution)) return;
  const bool has_several = network.streams.exist();
  const int64_t count = has_several ? network.streams.count : 1;
  std::vector<float> all;
  for (int64_t row = 0; row < flow.rows; ++row) {
    const std::vector<float> depth = DepthOf(network, flow, row, context);
    for (int64_t i = 0; i < count; ++i) {
      const auto stream = depth.begin() + i * network.streams.stride();
      all.insert(all.end(), stream, stream + network.width);
    }
  }
  const int64_t width = count * network.width;
  ShowValues(ValueRole::kStream, {all.data(), width}, flow.rows, width, context.execution);
}

// Runs all layers. Behind the last mixer those rows alone go on of which something is wanted.
Flow RunLayers(const Network& network, const StepBatch& batch, const Context& context) {
  const int64_t last_mixing = LastMixingLayer(network);
  Flow flow = {.rows = batch.row_count()};
  OpenStreams(network, flow, context);
  for (int64_t index = 0; index < static_cast<int64_t>(network.layers.size()); ++index) {
    const Layer& layer = network.layers[static_cast<size_t>(index)];
    const bool cuts = index == last_mixing;
    flow.layer = index;
    RunPrediction(layer, context, flow);
    RunMixers(network, layer, cuts ? RowsKept::kOutputRows : RowsKept::kAll, batch, context, &flow);
    // Behind the mixer, which reads the rows at their old places.
    if (cuts) CutRows(network, layer, batch, context.workspace, &flow);
    if (flow.rows == 0) break;
    RunLaurel(layer, context, &flow);
    RunFeedForward(network, layer, context, &flow);
    RunCorrection(layer, context, &flow);
    RunLayerInput(network, layer, context, &flow);
    if (!layer.output_scale.empty()) flow.pending.sum_scale = layer.output_scale.front();
    ShowDepth(network, batch, flow, context);
    ShowStream(network, flow, context);
  }
  CloseStreams(network, flow, context);
  // Each mixer has made its part.
  if (flow.place.state_floats > 0) {
    CHECK(flow.place.state_floats == context.states->shape().floats);
    context.states->ForgetCopies();
  }
  return flow;
}

// The last sum and the final norm of the rows from `first` on, whose hidden states are wanted, and
// what the network makes of them.
void FinishHiddenRows(const Network& network, const Flow& flow, int64_t first,
                      const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kHead);
  Input input = InputOf(network.head.norm, flow, context.workspace);
  const int64_t count = flow.rows - first;
  // From the rows behind the logit rows to the front.
  input.rows.data = input.rows.row(first);
  input.addend.rows.data = input.addend.rows.row(first);
  context.execution.pool.Run(count, [&](int64_t row, int) {
    AddAndNorm(input, {row, 1}, network.width, context.execution);
    if (network.head.norm.exists()) return;
    std::copy_n(input.rows.row(row), network.width, context.workspace.normed.row(row));
  });
  if (network.hidden_projection.exists()) Run(network.hidden_projection, count, context);
}

// Factor and soft cap of the logits, `count` of each row.
void FinishLogits(const Head& head, const Rows& logits, int64_t count, int64_t rows,
                  const Context& context) {
  if (head.scale == 1 && head.soft_cap == 0) return;
  const ScopedPhase phase(context.execution.profile, Phase::kHead);
  constexpr int64_t kUnit = 4096;  // a few microseconds
  const int64_t units = DivCeil(count, kUnit);
  context.execution.pool.Run(rows * units, [&](int64_t unit, int) {
    const int64_t first = unit % units * kUnit;
    const int64_t some = std::min(kUnit, count - first);
    float* x = logits.row(unit / units) + first;
    Scale(head.scale, x, some);
    if (head.soft_cap > 0) context.execution.kernels.soft_cap(head.soft_cap, x, some);
  });
}

// The logits of rows that the head reads, row i of the input into row i. All ranks give theirs to
// the first: it alone samples.
void MultiplyHead(const Network& network, const Input& input, const Context& context) {
  const Workspace& space = context.workspace;
  const int64_t rows = input.row_count;
  const RowPart own = PartOf(network.head.rows, network.vocab);
  const Rows logits = ColumnsOf(space.logits, own);
  const std::array head = {Product{&network.head.weights, logits, network.head.bias}};
  Prepare(input, head, context);
  Multiply(head, rows, Phase::kHead, context);
  FinishLogits(network.head, logits, own.rows, rows, context);
  Show(logits, rows, own.rows, context);
  if (context.execution.exchange == nullptr) return;
  const ScopedPhase phase(context.execution.profile, Phase::kHead);
  context.execution.exchange->GatherToFirst({.rows = space.logits.data,
                                             .stride = space.logits.stride,
                                             .row_count = rows,
                                             .first = own.first_row,
                                             .count = own.rows});
}

// The rows of the embedding that a rank multiplies where there is no other matrix.
kernels::PackedMatrix TiedHead(const Network& network) {
  const RowPart own = PartOf(network.head.rows, network.vocab);
  kernels::PackedMatrix head = network.embedding;
  head.panels += own.first_row / kernels::kPanelRows * head.panel_bytes();
  head.rows = own.rows;
  return head;
}

}  // namespace

Transformer::Transformer(Network network, AlignedBuffer storage)
    : network_(std::move(network)), storage_(std::move(storage)) {
  // A rank may have no row of a head that is there; of a network without weights all are empty.
  const kernels::PackedMatrix& head = network_.head.weights;
  if (head.panels == nullptr && head.rows == 0) network_.head.weights = TiedHead(network_);
}

void Transformer::Forward(const StepBatch& batch, const Context& context) const {
  CheckBatch(network_, batch, context);
  Embed(network_, batch, context);
  Show(context.workspace.residual, batch.row_count(), network_.width, context);
  RunLayerInputs(network_, batch, context);
  const Flow flow = RunLayers(network_, batch, context);
  const auto logit_rows = static_cast<int64_t>(batch.logit_rows.size());
  Enter(PartKind::kHead, kNoLayer, context);
  if (logit_rows > 0) {
    Input input = InputOf(network_.head.norm, flow, context.workspace);
    input.row_count = logit_rows;
    MultiplyHead(network_, input, context);
  }
  // Behind the head, which is done with what stands in workspace.normed.
  if (flow.rows > logit_rows) FinishHiddenRows(network_, flow, logit_rows, context);
}

void Transformer::TurnToLogits(int64_t first, int64_t count, const Context& context) const {
  CHECK(count <= context.workspace.limits().logit_rows);
  CHECK(!network_.hidden_projection.exists());
  // They are normed: what the head reads.
  Rows rows = context.workspace.normed;
  rows.data = rows.row(first);
  MultiplyHead(network_, {.rows = rows, .row_count = count}, context);
}

int64_t Transformer::DepthWidth() const {
  const Streams& streams = network_.streams;
  return streams.exist() ? streams.count * streams.stride() : network_.width;
}

void Transformer::TurnDepthToLogits(std::span<const float> rows, const Context& context) const {
  const Workspace& space = context.workspace;
  const int64_t width = DepthWidth();
  const Flow flow = {.rows = std::ssize(rows) / width};
  CHECK(flow.rows <= space.limits().rows && flow.rows <= space.limits().logit_rows);
  const Rows& to = network_.streams.exist() ? space.streams : space.residual;
  for (int64_t row = 0; row < flow.rows; ++row) {
    std::copy_n(rows.data() + row * width, width, to.row(row));
  }
  CloseStreams(network_, flow, context);
  MultiplyHead(network_, InputOf(network_.head.norm, flow, space), context);
}

}  // namespace skald::model
