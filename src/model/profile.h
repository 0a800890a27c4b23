/// StepProfile: where the time of a step goes, operation by operation.
///
/// A step is a sequence of parallel loops with a barrier after each; the calling thread takes part
/// in every loop and leaves it last. So the time that passes on the calling thread between two
/// barriers is the time of the operation, waiting for the slowest worker included, and the times of
/// all operations add up to the step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/stopwatch.h"

namespace skald::model {

/// The operations of a forward pass, in the order of a layer. Matmuls are told apart by their role.
enum class Phase : uint8_t {
  kEmbed,       ///< rows of the embedding, dequantized
  kPrepare,     ///< before a matmul: sum of the residual stream, RMSNorm, quantization
  kQkv,         ///< matmul: query, key and value
  kRope,        ///< bias, head norm, RoPE; K and V into their pages
  kAttention,   ///< attention over pages
  kRecurrence,  ///< what carries a state from row to row: convolutions, delta rule
  kOutput,      ///< matmul: attention output
  kRoute,       ///< matmul: router; the choice of experts, and the sum of what they give
  kGateUp,      ///< matmul: gate and up, with SwiGLU
  kDown,        ///< matmul: down
  kHead,        ///< matmul: LM head
};
inline constexpr size_t kPhaseCount = 11;

/// What each phase is called in a report, by Phase.
inline constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {
    "embed",          "add, norm, quantize", "matmul qkv", "rope, append",
    "attention",      "recurrence",          "matmul o",   "route",
    "matmul gate up", "matmul down",         "matmul head"};

/// What of a network a time or a work belongs to, in the order of a layer.
enum class PartKind : uint8_t {
  kEmbedding,    ///< of the tokens
  kLayerInputs,  ///< what layers are told of the token itself
  kStreams,      ///< several residual streams, made and joined
  kAltUp,        ///< predicted and corrected in a layer
  kMixer,
  kBeside,  ///< the second mixer of a layer
  kLaurel,
  kFeedForward,
  kLayerInput,  ///< what a layer makes of what it is told
  kHead,
};

/// Of a part that belongs to no layer.
inline constexpr int64_t kNoLayer = -1;

/// One part of a forward pass.
struct StepPart {
  PartKind kind = PartKind::kEmbedding;
  int64_t layer = kNoLayer;

  bool operator==(const StepPart&) const = default;
};

/// Seconds by phase.
struct PhaseSeconds {
  std::array<double, kPhaseCount> seconds = {};

  double& operator[](Phase phase) { return seconds[static_cast<size_t>(phase)]; }
  double operator[](Phase phase) const { return seconds[static_cast<size_t>(phase)]; }
};

/// The same of one part.
struct PartSeconds {
  StepPart part = {};
  PhaseSeconds seconds = {};
};

class StepTap;

/// Seconds by phase, added up over as many steps as it is passed to.
struct StepProfile : PhaseSeconds {
  /// Where they are wanted by part, too; each part stands there once. Takes memory as it grows.
  std::vector<PartSeconds>* parts = nullptr;
  /// What the step shows of itself is shown to it; with parts only.
  StepTap* tap = nullptr;

  /// What follows belongs to `part`.
  void Enter(const StepPart& part) {
    if (parts == nullptr) return;
    current_ = 0;
    while (current_ < parts->size() && (*parts)[current_].part != part) ++current_;
    if (current_ == parts->size()) parts->push_back({.part = part});
  }

  /// What was entered last. Requires parts, and that one was entered.
  const StepPart& part() const { return (*parts)[current_].part; }

  /// Requires that a part was entered, where parts are wanted.
  void Add(Phase phase, double more) {
    (*this)[phase] += more;
    if (parts != nullptr) (*parts)[current_].seconds[phase] += more;
  }

 private:
  size_t current_ = 0;
};

/// Adds the time of its own life to a phase. Without a profile it does nothing.
class ScopedPhase {
 public:
  ScopedPhase(StepProfile* profile, Phase phase) : profile_(profile), phase_(phase) {
    if (profile_ != nullptr) watch_.emplace();
  }
  ~ScopedPhase() {
    if (profile_ != nullptr) profile_->Add(phase_, watch_->Seconds());
  }
  ScopedPhase(const ScopedPhase&) = delete;
  ScopedPhase& operator=(const ScopedPhase&) = delete;

 private:
  StepProfile* profile_;
  Phase phase_;
  std::optional<Stopwatch> watch_;
};

}  // namespace skald::model
