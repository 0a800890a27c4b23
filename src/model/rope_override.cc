#include "model/rope_override.h"

#include <cmath>
#include <set>
#include <string>
#include <variant>

#include "base/exact_math.h"
#include "base/status_macros.h"
#include "model/checks.h"

namespace skald::model {
namespace {

// A context that many times as long would not fit any machine.
constexpr double kMostFactor = 65536;

Status CheckNumber(const char* name, const std::optional<double>& number, double least,
                   double most) {
  if (!number || (*number >= least && *number <= most)) return Ok();
  return Status(ErrorCode::kInvalidArgument, std::string(name) + " is " + std::to_string(*number) +
                                                 ", expected " + std::to_string(least) + " to " +
                                                 std::to_string(most));
}

Status CheckNumbers(const RopeOverride& override) {
  constexpr double kLeast = 1e-6;
  RETURN_IF_ERROR(CheckNumber("rope factor", override.factor, kLeast, kMostFactor));
  RETURN_IF_ERROR(CheckNumber("rope frequency base", override.base, 1, 1e15));
  RETURN_IF_ERROR(CheckNumber("YaRN's extrapolation", override.extrapolation, 0, 1));
  RETURN_IF_ERROR(CheckNumber("YaRN's magnitude", override.magnitude, kLeast, kMostFactor));
  RETURN_IF_ERROR(CheckNumber("YaRN's beta_fast", override.beta_fast, kLeast, kMostFactor));
  RETURN_IF_ERROR(CheckNumber("YaRN's beta_slow", override.beta_slow, kLeast, kMostFactor));
  const int64_t trained = override.trained_context.value_or(1);
  if (trained >= 1 && trained <= kMaxContext) return Ok();
  return Status(ErrorCode::kInvalidArgument, "the trained context is " + std::to_string(trained) +
                                                 ", expected 1 to " + std::to_string(kMaxContext));
}

// Places in network.ropes of those that turn over the whole context.
Result<std::set<size_t>> FarRopes(const Network& network) {
  std::set<size_t> ropes;
  for (const Layer& layer : network.layers) {
    for (const Mixer* mixer : {&layer.mixer, &layer.beside}) {
      if (const Mla* mla = std::get_if<Mla>(mixer); mla != nullptr && mla->rope)
        return Status(ErrorCode::kUnsupported,
                      "positions of latent attention cannot be changed: its scale was made for "
                      "those of the file");
      const Gqa* gqa = std::get_if<Gqa>(mixer);
      if (gqa != nullptr && gqa->rope && gqa->window == 0 && gqa->chunk == 0)
        ropes.insert(*gqa->rope);
    }
  }
  if (!ropes.empty()) return ropes;
  return Status(ErrorCode::kUnsupported,
                "the model has no rotary positions over its whole context that could be changed");
}

RopeScaling ScalingOf(RopeStretch stretch) {
  switch (stretch) {
    case RopeStretch::kLinear: return RopeScaling::kLinear;
    case RopeStretch::kYarn: return RopeScaling::kYarn;
    case RopeStretch::kNone:
    case RopeStretch::kNtk: break;
  }
  return RopeScaling::kNone;
}

// What the file says of the way, without which it would be `stretch`.
RopeStretch StretchOf(const Rope& rope, const RopeOverride& override) {
  if (override.stretch) return *override.stretch;
  if (rope.scaling == RopeScaling::kYarn) return RopeStretch::kYarn;
  return override.factor || rope.scaling == RopeScaling::kLinear ? RopeStretch::kLinear
                                                                 : RopeStretch::kNone;
}

void Stretch(RopeStretch stretch, const RopeOverride& override, Rope* rope) {
  const RopeScaling scaling = ScalingOf(stretch);
  // The magnitude of one way of stretching is not that of another.
  if (scaling != rope->scaling) {
    rope->magnitude.reset();
    rope->attention_factor = 1;
  }
  rope->scaling = scaling;
  if (override.factor) rope->factor = *override.factor;
  if (stretch == RopeStretch::kNone) rope->factor = 1;
  if (stretch != RopeStretch::kNtk) return;
  // So that the slowest pair turns as with positions divided by the factor (numerics 3.2).
  const auto rotated = static_cast<double>(rope->rotated);
  if (rotated > 2) rope->base *= ExactPow(rope->factor, rotated / (rotated - 2));
}

void OverrideRope(const RopeOverride& override, int64_t trained, Rope* rope) {
  if (override.base) rope->base = *override.base;
  Stretch(StretchOf(*rope, override), override, rope);
  rope->original_context = trained;
  if (override.extrapolation) rope->extrapolation = *override.extrapolation;
  if (override.magnitude) rope->magnitude = *override.magnitude;
  if (override.beta_fast) rope->beta_fast = *override.beta_fast;
  if (override.beta_slow) rope->beta_slow = *override.beta_slow;
}

int64_t TrainedContext(const RopeOverride& override, const Network& network, const Rope& rope) {
  if (override.trained_context) return *override.trained_context;
  return rope.original_context > 0 ? rope.original_context : network.context;
}

}  // namespace

Status OverrideRopes(const RopeOverride& override, Network* network) {
  if (override.empty()) return Ok();
  RETURN_IF_ERROR(CheckNumbers(override));
  ASSIGN_OR_RETURN(const std::set<size_t> far, FarRopes(*network));
  const int64_t trained = TrainedContext(override, *network, network->ropes[*far.begin()]);
  for (const size_t place : far) OverrideRope(override, trained, &network->ropes[place]);
  // A new base alone says nothing of a length.
  if (!override.stretch && !override.factor && !override.trained_context) return Ok();
  if (network->picked_positions > 0) {
    return Status(ErrorCode::kUnsupported,
                  "the model picks " + std::to_string(network->picked_positions) +
                      " positions of a longer context, which this version does not run: its "
                      "context cannot be stretched");
  }
  const double factor = network->ropes[*far.begin()].factor;
  const bool stretches = override.stretch && *override.stretch != RopeStretch::kNone;
  if (stretches && !override.factor && factor == 1)
    return Status(ErrorCode::kInvalidArgument,
                  "positions are to be stretched, and neither the file nor you say by how much: "
                  "give a factor");
  const double context = std::floor(static_cast<double>(trained) * factor);
  if (context < 1 || context > static_cast<double>(kMaxContext))
    return Status(ErrorCode::kInvalidArgument, "a context of " + std::to_string(trained) +
                                                   " stretched by " + std::to_string(factor) +
                                                   " has no length that is possible");
  network->context = static_cast<int64_t>(context);
  return Ok();
}

}  // namespace skald::model
