#include "model/config.h"

#include <cmath>
#include <string>

#include "base/check.h"
#include "base/status_macros.h"

namespace skald::model {
namespace {

Status Bad(const std::string& message) { return Status(ErrorCode::kBadModel, message); }

Status InRange(std::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return Ok();
  return Bad(std::string(field) + " is " + std::to_string(value) + ", expected " +
             std::to_string(low) + " to " + std::to_string(high));
}

Status Positive(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return Ok();
  return Bad(std::string(field) + " is " + std::to_string(value) + ", expected a positive number");
}

Status ValidateRope(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  RETURN_IF_ERROR(InRange("rope dimension", rope.rotated, 2, config.key_dim));
  if (rope.rotated % 2 != 0) {
    return Bad("rope dimension is " + std::to_string(rope.rotated) + ", expected an even number");
  }
  RETURN_IF_ERROR(Positive("rope frequency base", rope.base));
  RETURN_IF_ERROR(Positive("rope scaling factor", rope.factor));
  RETURN_IF_ERROR(Positive("rope attention factor", rope.attention_factor));
  if (rope.scaling == RopeScaling::kYarn) {
    RETURN_IF_ERROR(InRange("rope original context", rope.original_context, 1, kMaxContext));
    RETURN_IF_ERROR(Positive("rope beta fast", rope.beta_fast));
    RETURN_IF_ERROR(Positive("rope beta slow", rope.beta_slow));
  }
  if (!rope.factors.empty() && static_cast<int64_t>(rope.factors.size()) != rope.rotated / 2) {
    return Bad("rope frequency factors are " + std::to_string(rope.factors.size()) + ", expected " +
               std::to_string(rope.rotated / 2));
  }
  for (const float factor : rope.factors) {
    RETURN_IF_ERROR(Positive("rope frequency factor", factor));
  }
  return Ok();
}

}  // namespace

Status Validate(const ModelConfig& config) {
  CHECK(config.family != nullptr);
  RETURN_IF_ERROR(InRange("vocabulary size", config.vocab, 1, int64_t{1} << 24));
  RETURN_IF_ERROR(InRange("embedding length", config.embedding, 1, kMaxWidth));
  RETURN_IF_ERROR(InRange("block count", config.layers, 1, kMaxLayers));
  RETURN_IF_ERROR(InRange("head count", config.heads, 1, kMaxHeads));
  RETURN_IF_ERROR(InRange("KV head count", config.kv_heads, 1, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return Bad("head count " + std::to_string(config.heads) +
               " is not a multiple of KV head count " + std::to_string(config.kv_heads));
  }
  RETURN_IF_ERROR(InRange("key length", config.key_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("value length", config.value_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("feed forward length", config.feed_forward, 1, kMaxWidth));
  RETURN_IF_ERROR(InRange("context length", config.context, 1, kMaxContext));
  RETURN_IF_ERROR(InRange("sliding window", config.window, 0, kMaxContext));
  if (!std::isfinite(config.norm_epsilon) || config.norm_epsilon < 0) {
    return Bad("norm epsilon is " + std::to_string(config.norm_epsilon) +
               ", expected a number of at least 0");
  }
  return ValidateRope(config);
}

}  // namespace skald::model
