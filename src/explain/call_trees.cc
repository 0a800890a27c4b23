#include "explain/call_trees.h"

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "engine/bench_work.h"
#include "explain/tapped.h"
#include "model/transformer.h"

namespace skald::explain {
namespace {

using model::Phase;
using model::StepPart;
using model::StepWork;
using model::Work;
using model::WorkItem;

std::vector<int64_t> ShapeOf(const model::Extents& extents) {
  std::vector<int64_t> shape;
  for (const int64_t extent : extents) {
    if (extent > 0) shape.push_back(extent);
  }
  return shape;
}

std::string NameOfMixer(const model::Mixer& mixer) {
  return std::visit([](const auto& block) { return std::string(NameOf(block)); }, mixer);
}

std::string NameOfFeedForward(const model::FeedForward& block) {
  return std::visit([](const auto& of) { return std::string(NameOf(of)); }, block);
}

void AddTo(const Call& part, Call* whole) {
  whole->work.int8_macs += part.work.int8_macs;
  whole->work.bfloat16_macs += part.work.bfloat16_macs;
  whole->work.float_macs += part.work.float_macs;
  whole->work.bytes += part.work.bytes;
  whole->seconds = whole->seconds.value_or(0) + part.seconds.value_or(0);
}

// A matrix that a head shares with the embedding has the embedding's name, where there are weights
// to tell by.
bool IsTied(const model::Network& network) {
  const std::byte* panels = network.head.weights.panels;
  return panels != nullptr && panels == network.embedding.panels;
}

std::string_view RoleName(model::ValueRole role) {
  switch (role) {
    case model::ValueRole::kQuery: return "query";
    case model::ValueRole::kKey: return "key";
    case model::ValueRole::kValue: return "value";
    case model::ValueRole::kLatent: return "latent";
    case model::ValueRole::kResult:
    case model::ValueRole::kStream: break;  // cards of the call itself
  }
  UNREACHABLE();
}

TensorCard CardOfPart(const model::PartValues& values) {
  return CardOf(values.summary, {values.rows, values.width});
}

// The cards of a block.
void SetCards(const model::LoggedStep& step, const StepPart& part, Call* block) {
  for (const model::PartValues& values : step.tapped.values) {
    if (values.part != part || values.role == model::ValueRole::kStream) continue;
    if (values.role == model::ValueRole::kResult) {
      block->card = CardOfPart(values);
    } else {
      block->tensors.push_back({std::string(RoleName(values.role)), CardOfPart(values)});
    }
  }
}

std::optional<TensorCard> StreamBehind(const model::LoggedStep& step, int64_t layer) {
  for (const model::PartValues& values : step.tapped.values) {
    const bool is_stream = values.role == model::ValueRole::kStream;
    if (is_stream && values.part.layer == layer) return CardOfPart(values);
  }
  return std::nullopt;
}

}  // namespace

struct CallTrees::Part {
  StepPart part = {};
  StepWork work = {};
  std::vector<WorkItem> items = {};
  model::PhaseSeconds seconds = {};
};

CallTrees::CallTrees(const model::Network& network, const kv::KvLayout& layout,
                     const std::optional<Ceilings>& ceilings)
    : network_(network), layout_(layout), ceilings_(ceilings) {
  for (const model::TensorSlot& slot : model::TensorsOf(network_)) {
    if (slot.is_vector() || slot.row_table() != nullptr) continue;
    for (const kernels::PackedMatrix& matrix : slot.matrices()) names_[&matrix] = slot.name;
  }
  if (IsTied(network_)) names_[&network_.head.weights] = names_[&network_.embedding];
}

std::vector<CallTrees::Part> CallTrees::PartsOf(const model::LoggedStep& step) const {
  std::deque<Part> parts;  // what records into one keeps its address
  const auto find = [&](const StepPart& wanted) -> Part& {
    for (Part& part : parts) {
      if (part.part == wanted) return part;
    }
    parts.push_back({.part = wanted});
    parts.back().work.Record(&parts.back().items);
    return parts.back();
  };
  model::VisitWork(network_, layout_, step.shape,
                   [&](const StepPart& part) -> StepWork& { return find(part).work; });
  for (const model::PartSeconds& timed : step.parts) find(timed.part).seconds = timed.seconds;
  for (Part& part : parts) part.work.Record(nullptr);
  // The head last, whatever came later.
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    const auto place = [](const StepPart& part) {
      const bool is_head = part.kind == model::PartKind::kHead;
      return std::pair(is_head, std::pair(part.layer, part.kind));
    };
    return place(a.part) < place(b.part);
  });
  return {std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end())};
}

Call CallTrees::Of(const model::LoggedStep& step) const {
  Call root = {.kind = CallKind::kStep, .name = "step"};
  root.input = {step.shape.rows};
  root.output = {step.shape.logit_rows, network_.vocab};
  if (step.shape.logit_rows == 0) {
    root.output = {step.shape.hidden_rows, model::HiddenWidth(network_)};
  }
  StepWork all;
  StepWork of_layer;
  const auto add = [](const StepWork& part, StepWork* sum) {
    for (size_t i = 0; i < model::kPhaseCount; ++i) {
      (*sum)[static_cast<Phase>(i)].Add(part[static_cast<Phase>(i)]);
    }
  };
  for (const Part& part : PartsOf(step)) {
    Call block = BlockOf(part, step.shape);
    SetCards(step, part.part, &block);
    add(part.work, &all);
    AddTo(block, &root);
    if (part.part.layer < 0) {
      root.calls.push_back(std::move(block));
      continue;
    }
    if (root.calls.empty() || root.calls.back().layer != part.part.layer) {
      root.calls.push_back({.kind = CallKind::kLayer,
                            .name = "layer " + std::to_string(part.part.layer),
                            .layer = part.part.layer,
                            .input = block.input,
                            .card = StreamBehind(step, part.part.layer)});
      of_layer = {};
    }
    Call& layer = root.calls.back();
    add(part.work, &of_layer);
    AddTo(block, &layer);
    SetBound(model::Essential(of_layer), &layer);
    layer.output = block.output;
    layer.calls.push_back(std::move(block));
  }
  SetBound(model::Essential(all), &root);
  return root;
}

Call CallTrees::BlockOf(const Part& part, const model::StepShape& shape) const {
  Call block = {.kind = CallKind::kBlock, .name = NameOf(part.part), .layer = part.part.layer};
  SetShapes(part.part, shape, &block);
  for (size_t i = 0; i < model::kPhaseCount; ++i) {
    const auto phase = static_cast<Phase>(i);
    if (part.work[phase].IsNone() && part.seconds[phase] == 0) continue;
    block.calls.push_back(OperationOf(part, phase));
    AddTo(block.calls.back(), &block);
  }
  SetBound(model::Essential(part.work), &block);
  return block;
}

Call CallTrees::OperationOf(const Part& part, Phase phase) const {
  Call call = {.kind = CallKind::kOperation,
               .name = std::string(model::kPhaseNames[static_cast<size_t>(phase)]),
               .layer = part.part.layer,
               .work = engine::PublicWork(part.work[phase]),
               .seconds = part.seconds[phase]};
  std::vector<Call> items;
  for (const WorkItem& item : part.items) {
    if (item.phase == phase) items.push_back(MatrixOf(item, part.part.layer));
  }
  SetBound(part.work[phase], &call);
  if (!items.empty()) call.input = items.front().input;
  if (items.size() == 1) {
    call.operand = items.front().operand;
    call.output = items.front().output;
  }
  for (Call& item : items) {
    if (!item.name.empty()) call.calls.push_back(std::move(item));
  }
  return call;
}

Call CallTrees::MatrixOf(const WorkItem& item, int64_t layer) const {
  const auto name = names_.find(item.matrix);
  return {.kind = CallKind::kMatrix,
          .name = name == names_.end() ? std::string() : name->second,
          .layer = layer,
          .input = ShapeOf(item.input),
          .operand = ShapeOf(item.other),
          .output = ShapeOf(item.output),
          .work = engine::PublicWork(item.work)};
}

// Behind the last mixer only those rows go on of which something is wanted.
void CallTrees::SetShapes(const StepPart& part, const model::StepShape& shape, Call* block) const {
  using model::PartKind;
  const int64_t width = network_.width;
  const bool is_last = part.layer >= model::LastMixingLayer(network_);
  const int64_t kept = is_last ? shape.output_rows() : shape.rows;
  switch (part.kind) {
    case PartKind::kEmbedding:
    case PartKind::kLayerInputs:
    case PartKind::kStreams:
      block->input = {shape.rows};
      block->output = {shape.rows, width};
      return;
    case PartKind::kMixer:
    case PartKind::kBeside:
      block->input = {shape.rows, width};
      block->output = {kept, width};
      return;
    case PartKind::kHead:
      block->input = {shape.output_rows(), width};
      block->output = {shape.logit_rows, network_.vocab};
      if (shape.logit_rows == 0) block->output = {shape.hidden_rows, model::HiddenWidth(network_)};
      return;
    case PartKind::kAltUp:
    case PartKind::kLaurel:
    case PartKind::kFeedForward:
    case PartKind::kLayerInput: block->input = block->output = {kept, width}; return;
  }
}

std::string CallTrees::NameOf(const StepPart& part) const {
  using model::PartKind;
  const auto layer = [&]() -> const model::Layer& {
    return network_.layers[static_cast<size_t>(part.layer)];
  };
  switch (part.kind) {
    case PartKind::kEmbedding: return "embedding";
    case PartKind::kLayerInputs: return "inputs of layers";
    case PartKind::kStreams: return "residual streams";
    case PartKind::kAltUp: return "AltUp";
    case PartKind::kMixer: return NameOfMixer(layer().mixer);
    case PartKind::kBeside: return NameOfMixer(layer().beside);
    case PartKind::kLaurel: return "Laurel";
    case PartKind::kFeedForward: return NameOfFeedForward(layer().feed_forward);
    case PartKind::kLayerInput: return "input of the layer";
    case PartKind::kHead: return "head";
  }
  return "";
}

void CallTrees::SetBound(const Work& work, Call* call) const {
  if (!ceilings_ || work.IsNone()) return;
  call->bound = BoundOf(engine::PublicWork(work), *ceilings_);
}

}  // namespace skald::explain
