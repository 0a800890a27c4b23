#include "model/network.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "model/checks.h"

namespace skald::model {
namespace {

// Far above any published model: BERT has two.
constexpr int64_t kMaxTokenTypes = 1024;

Status ValidateLayer(const Network& network, const Layer& layer) {
  for (const Norm* norm : {&layer.mixer_norm, &layer.mixer_output_norm, &layer.mixer_sum_norm,
                           &layer.feed_forward_norm, &layer.feed_forward_output_norm,
                           &layer.feed_forward_sum_norm, &layer.input_output_norm}) {
    RETURN_IF_ERROR(Validate(*norm));
  }
  if (!Exists(layer.mixer) && !Exists(layer.feed_forward)) {
    return Status(ErrorCode::kBadModel, "found neither a mixer nor a feed-forward, expected one");
  }
  CHECK(Exists(layer.mixer) || !Exists(layer.beside));
  for (const Mixer* place : {&layer.mixer, &layer.beside}) {
    RETURN_IF_ERROR(
        std::visit([&](const auto& mixer) { return Validate(mixer, network.ropes); }, *place));
  }
  CHECK(!layer.laurel || layer.order == LayerOrder::kSequential);
  if (layer.laurel) RETURN_IF_ERROR(Validate(*layer.laurel));
  CHECK(!layer.alt_up || (layer.input && layer.alt_up->streams == network.streams.count));
  if (layer.alt_up) RETURN_IF_ERROR(Validate(*layer.alt_up));
  if (layer.input) {
    CHECK(network.layer_inputs.row_width() >= layer.input->first + layer.input->inner);
    RETURN_IF_ERROR(Validate(*layer.input));
  }
  return std::visit([](const auto& block) { return Validate(block); }, layer.feed_forward);
}

Status ValidateHead(const Head& head) {
  RETURN_IF_ERROR(Validate(head.norm));
  RETURN_IF_ERROR(Positive("logit scale", head.scale));
  return NotNegative("logit soft cap", head.soft_cap);
}

kv::KvShape CacheOf(const Mixer& place) {
  return std::visit([](const auto& mixer) { return Cache(mixer); }, place);
}

// Positions that a row reads of the K and V of a mixer, its own included.
constexpr int64_t kAllPositions = std::numeric_limits<int64_t>::max();
int64_t ReachOf(const Mixer& mixer) {
  const auto* mla = std::get_if<Mla>(&mixer);
  if (mla != nullptr && mla->window > 0) return mla->window;
  const auto* gqa = std::get_if<Gqa>(&mixer);
  if (gqa == nullptr || gqa->mask != Mask::kCausal) return kAllPositions;
  int64_t reach = kAllPositions;
  if (gqa->window > 0) reach = std::min(reach, gqa->window);
  if (gqa->chunk > 0) reach = std::min(reach, gqa->chunk);
  return reach;
}

int64_t PinnedOf(const Mixer& mixer) {
  const auto* mla = std::get_if<Mla>(&mixer);
  if (mla != nullptr) return mla->pinned;
  const auto* gqa = std::get_if<Gqa>(&mixer);
  return gqa != nullptr ? gqa->pinned : 0;
}

// Those that read the K and V of another find there what they expect.
Status ValidateSharing(const Network& network) {
  std::vector<kv::KvShape> shapes;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    for (const Mixer* mixer : {&network.layers[i].mixer, &network.layers[i].beside}) {
      const auto* gqa = std::get_if<Gqa>(mixer);
      if (gqa != nullptr && gqa->shared_kv) {
        const auto owner = static_cast<size_t>(*gqa->shared_kv);
        CHECK(owner < shapes.size());
        if (shapes[owner] != ShapeOf(*gqa)) {
          return Status(ErrorCode::kBadModel,
                        "layer " + std::to_string(i) +
                            " reads the keys and values of another layer, expected that both have "
                            "the same number of KV heads and the same lengths of them");
        }
      }
      if (!CacheOf(*mixer).IsNone()) shapes.push_back(CacheOf(*mixer));
    }
  }
  return Ok();
}

LayerPlace EndOf(const Network& network) {
  LayerPlace place;
  for (const Layer& layer : network.layers) {
    place = Behind(layer.beside, Behind(layer.mixer, place));
  }
  return place;
}

}  // namespace

Status Validate(const Network& network) {
  RETURN_IF_ERROR(InRange("vocabulary size", network.vocab, 1, int64_t{1} << 24));
  RETURN_IF_ERROR(InRange("embedding length", network.width, 1, kMaxWidth));
  RETURN_IF_ERROR(
      InRange("block count", static_cast<int64_t>(network.layers.size()), 1, kMaxLayers));
  RETURN_IF_ERROR(InRange("context length", network.context, 1, kMaxContext));
  if (network.picked_positions > 0)
    RETURN_IF_ERROR(InRange("context length", network.context, 1, network.picked_positions));
  RETURN_IF_ERROR(Positive("embedding scale", network.embedding_scale));
  RETURN_IF_ERROR(Positive("residual scale", network.residual_scale));
  RETURN_IF_ERROR(InRange("token type count", network.token_types, 0, kMaxTokenTypes));
  RETURN_IF_ERROR(Validate(network.embedding_norm));
  RETURN_IF_ERROR(ValidateHead(network.head));
  RETURN_IF_ERROR(Validate(network.hidden_projection));
  RETURN_IF_ERROR(Validate(network.rank_head));
  for (const Rope& rope : network.ropes) RETURN_IF_ERROR(Validate(rope));
  RETURN_IF_ERROR(Validate(network.layer_inputs));
  RETURN_IF_ERROR(Validate(network.streams));
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const std::string where = "layer " + std::to_string(i);
    Status status = ValidateLayer(network, network.layers[i]);
    if (!status.ok()) return std::move(status).WithContext(where);
  }
  if (LastMixingLayer(network) < 0) {
    return Status(ErrorCode::kBadModel, "found no layer with a mixer, expected one");
  }
  return ValidateSharing(network);
}

std::vector<TensorSlot> TensorsOf(Network& network) {
  TensorList tensors;
  tensors.Matrix("token_embd.weight", network.vocab, network.width, &network.embedding);
  if (network.positions == Positions::kLearned) {
    tensors.Table("position_embd.weight", network.context, network.width,
                  &network.position_embedding);
  }
  if (network.token_types > 0) {
    tensors.Table("token_types.weight", network.token_types, network.width,
                  &network.token_type_embedding);
  }
  Declare(network.embedding_norm, "token_embd_norm", network.width, tensors);
  Declare(network.layer_inputs, tensors);
  Declare(network.streams, tensors);
  // Factors of the frequencies, for every rope of the network.
  for (Rope& rope : network.ropes) {
    const int64_t count = rope.factor_count();
    if (rope.factors_name.empty()) continue;
    tensors.Vector(rope.factors_name, count, &rope.factors, Presence::kOptional);
    if (rope.long_factors_name.empty()) continue;
    tensors.Vector(rope.long_factors_name, count, &rope.long_factors, Presence::kOptional);
  }
  for (size_t i = 0; i < network.layers.size(); ++i) {
    Layer& layer = network.layers[i];
    tensors.Begin("blk." + std::to_string(i) + ".");
    Declare(layer.mixer_norm, "attn_norm", network.width, tensors);
    std::visit([&](auto& mixer) { Declare(mixer, tensors); }, layer.mixer);
    std::visit([&](auto& mixer) { Declare(mixer, tensors); }, layer.beside);
    if (layer.laurel) Declare(*layer.laurel, tensors);
    Declare(layer.mixer_output_norm, "post_attention_norm", network.width, tensors);
    Declare(layer.mixer_sum_norm, "attn_output_norm", network.width, tensors);
    Declare(layer.feed_forward_norm, "ffn_norm", network.width, tensors);
    std::visit([&](auto& block) { Declare(block, tensors); }, layer.feed_forward);
    Declare(layer.feed_forward_output_norm, "post_ffw_norm", network.width, tensors);
    Declare(layer.feed_forward_sum_norm, "layer_output_norm", network.width, tensors);
    if (layer.alt_up) Declare(*layer.alt_up, tensors);
    if (layer.input) Declare(*layer.input, tensors);
    Declare(layer.input_output_norm, "post_norm", network.width, tensors);
    if (layer.scale == LayerScale::kLearned) {
      tensors.Vector("layer_output_scale.weight", 1, &layer.output_scale);
    }
  }
  tensors.Begin("");
  Declare(network.head.norm, "output_norm", network.width, tensors);
  const RowPart head = PartOf(network.head.rows, network.vocab);
  tensors.MatrixPart("output.weight", head, network.width, &network.head.weights,
                     Presence::kOptional);
  tensors.VectorPart("output.bias", head, &network.head.bias, Presence::kOptional);
  Declare(network.hidden_projection, tensors);
  Declare(network.rank_head, tensors);
  return tensors.Take();
}

kv::KvLayout KvLayoutOf(const Network& network, kernels::KvTypes types) {
  kv::KvLayout layout = {.types = types};
  std::vector<int64_t> reaches;  // of the layers of the layout
  for (const Layer& layer : network.layers) {
    for (const Mixer* mixer : {&layer.mixer, &layer.beside}) {
      const auto* gqa = std::get_if<Gqa>(mixer);
      if (gqa != nullptr && gqa->shared_kv) {
        int64_t& reach = reaches[static_cast<size_t>(*gqa->shared_kv)];
        reach = std::max(reach, ReachOf(*mixer));
      }
      const kv::KvShape shape = CacheOf(*mixer);
      if (shape.IsNone()) continue;
      layout.layers.push_back(shape);
      reaches.push_back(ReachOf(*mixer));
    }
  }
  for (size_t i = 0; i < reaches.size(); ++i) {
    if (reaches[i] == kAllPositions) continue;
    layout.layers[i].group = kv::PageGroup::kWindow;
    layout.window = std::max(layout.window, reaches[i]);
  }
  for (const Layer& layer : network.layers) {
    for (const Mixer* mixer : {&layer.mixer, &layer.beside}) {
      layout.pinned = std::max(layout.pinned, PinnedOf(*mixer));
    }
  }
  return layout;
}

int64_t StateFloatsOf(const Network& network) { return EndOf(network).state_floats; }

LayerPlace Behind(const Mixer& mixer, const LayerPlace& place) {
  const int64_t floats = std::visit([](const auto& block) { return StateFloats(block); }, mixer);
  // Each part is aligned as the slot is.
  return {.kv_layer = place.kv_layer + int64_t{!CacheOf(mixer).IsNone()},
          .state_floats = place.state_floats + RoundUp<int64_t>(floats, 16)};
}

int64_t LastMixingLayer(const Network& network) {
  auto last = static_cast<int64_t>(network.layers.size()) - 1;
  while (last >= 0 && !Exists(network.layers[static_cast<size_t>(last)].mixer)) --last;
  return last;
}

bool NeedsWholeTexts(const Network& network) {
  return std::any_of(network.layers.begin(), network.layers.end(), [](const Layer& layer) {
    const auto* gqa = std::get_if<Gqa>(&layer.mixer);
    return gqa != nullptr && gqa->mask == Mask::kNone;
  });
}

int64_t HiddenWidth(const Network& network) {
  const HiddenProjection& projection = network.hidden_projection;
  return projection.exists() ? projection.output : network.width;
}

std::vector<RopeTable> RopeTablesOf(const Network& network, int64_t positions) {
  std::vector<RopeTable> tables;
  for (const Rope& rope : network.ropes) tables.emplace_back(rope, positions);
  return tables;
}

}  // namespace skald::model
