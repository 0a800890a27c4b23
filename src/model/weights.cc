#include "model/weights.h"

#include <utility>

#include "base/check.h"

namespace skald::model {
namespace {

WeightSlot Matrix(WeightRole role, int64_t layer, int64_t rows, int64_t cols) {
  return {.role = role, .layer = layer, .rows = rows, .cols = cols};
}

WeightSlot Vector(WeightRole role, int64_t layer, int64_t length) {
  return {.role = role, .layer = layer, .cols = length, .vector = true};
}

void AppendLayer(const ModelConfig& config, int64_t layer, std::vector<WeightSlot>* slots) {
  const int64_t width = config.embedding;
  const auto add = [&](const WeightSlot& slot) { slots->push_back(slot); };
  add(Vector(WeightRole::kAttentionNorm, layer, width));
  add(Matrix(WeightRole::kQuery, layer, config.query_width(), width));
  add(Matrix(WeightRole::kKey, layer, config.key_width(), width));
  add(Matrix(WeightRole::kValue, layer, config.value_width(), width));
  for (const auto& [role, length] : {std::pair(WeightRole::kQueryBias, config.query_width()),
                                     std::pair(WeightRole::kKeyBias, config.key_width()),
                                     std::pair(WeightRole::kValueBias, config.value_width())}) {
    add(Vector(role, layer, length));
    slots->back().optional = !config.family->attention_bias;
  }
  if (config.family->head_norm) {
    add(Vector(WeightRole::kQueryNorm, layer, config.key_dim));
    add(Vector(WeightRole::kKeyNorm, layer, config.key_dim));
  }
  add(Matrix(WeightRole::kAttentionOutput, layer, width, config.attention_width()));
  add(Vector(WeightRole::kFeedForwardNorm, layer, width));
  add(Matrix(WeightRole::kGate, layer, config.feed_forward, width));
  add(Matrix(WeightRole::kUp, layer, config.feed_forward, width));
  add(Matrix(WeightRole::kDown, layer, width, config.feed_forward));
}

}  // namespace

std::vector<WeightSlot> SlotsOf(const ModelConfig& config) {
  std::vector<WeightSlot> slots;
  slots.push_back(Matrix(WeightRole::kTokenEmbedding, -1, config.vocab, config.embedding));
  slots.push_back(Vector(WeightRole::kRopeFactors, -1, config.rope.rotated / 2));
  slots.back().optional = true;
  for (int64_t layer = 0; layer < config.layers; ++layer) AppendLayer(config, layer, &slots);
  slots.push_back(Vector(WeightRole::kOutputNorm, -1, config.embedding));
  slots.push_back(Matrix(WeightRole::kOutput, -1, config.vocab, config.embedding));
  slots.back().optional = true;
  return slots;
}

kernels::PackedMatrix& Weights::Matrix(const WeightSlot& slot) {
  CHECK(!slot.vector);
  if (slot.role == WeightRole::kTokenEmbedding) return token_embedding;
  if (slot.role == WeightRole::kOutput) return output;
  LayerWeights& layer = layers.at(static_cast<size_t>(slot.layer));
  switch (slot.role) {
    case WeightRole::kQuery: return layer.query;
    case WeightRole::kKey: return layer.key;
    case WeightRole::kValue: return layer.value;
    case WeightRole::kAttentionOutput: return layer.attention_output;
    case WeightRole::kGate: return layer.gate;
    case WeightRole::kUp: return layer.up;
    case WeightRole::kDown: return layer.down;
    default: UNREACHABLE();
  }
}

std::vector<float>& Weights::Vector(const WeightSlot& slot) {
  CHECK(slot.vector);
  if (slot.role == WeightRole::kOutputNorm) return output_norm;
  LayerWeights& layer = layers.at(static_cast<size_t>(slot.layer));
  switch (slot.role) {
    case WeightRole::kAttentionNorm: return layer.attention_norm;
    case WeightRole::kQueryBias: return layer.query_bias;
    case WeightRole::kQueryNorm: return layer.query_norm;
    case WeightRole::kKeyBias: return layer.key_bias;
    case WeightRole::kKeyNorm: return layer.key_norm;
    case WeightRole::kValueBias: return layer.value_bias;
    case WeightRole::kFeedForwardNorm: return layer.feed_forward_norm;
    default: UNREACHABLE();
  }
}

}  // namespace skald::model
