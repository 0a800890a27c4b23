#include "model/blocks/experts/experts.h"

#include <array>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/status_macros.h"
#include "model/blocks/experts/buffers.h"
#include "model/blocks/gathered.h"
#include "model/checks.h"

namespace skald::model {
namespace {

// Experts that `rows` rows read, if each chooses `used` of them evenly and by itself.
double ExpertsRead(const Experts& experts, int64_t rows) {
  const auto count = static_cast<double>(experts.count);
  const double missed = 1 - static_cast<double>(experts.used) / count;
  return count * (1 - std::pow(missed, static_cast<double>(rows)));
}

Status ValidateGroups(const Experts& experts) {
  const kernels::RouteRule& rule = experts.rule;
  RETURN_IF_ERROR(InRange("expert group count", rule.groups, 1, kernels::kMaxRouteGroups));
  RETURN_IF_ERROR(InRange("used expert groups", rule.used_groups, 1, rule.groups));
  if (experts.count % rule.groups != 0) {
    return Status(ErrorCode::kBadModel, "expert count " + std::to_string(experts.count) +
                                            " is not a multiple of expert group count " +
                                            std::to_string(rule.groups));
  }
  return InRange("used experts", experts.used, 1, experts.count / rule.groups * rule.used_groups);
}

void DeclareShared(Experts& experts, TensorList& tensors) {
  SharedExpert& shared = experts.shared;
  const int64_t width = experts.width;
  const RowPart own = shared.HiddenPart();
  if (experts.is_gated()) {
    tensors.MatrixPart("ffn_gate_shexp.weight", own, width, &shared.gate);
  }
  tensors.MatrixPart("ffn_up_shexp.weight", own, width, &shared.up);
  tensors.MatrixPart("ffn_down_shexp.weight", experts.StreamPart(), shared.hidden, &shared.down);
  if (shared.weight == SharedWeight::kSigmoid) {
    tensors.Matrix("ffn_gate_inp_shexp.weight", 1, width, &shared.selector);
  }
}

// The matrices of all experts.
void DeclareSlices(Experts& experts, TensorList& tensors) {
  const int64_t count = experts.count;
  const int64_t width = experts.expert_width();
  const RowPart own = experts.HiddenPart();
  if (experts.fusion == Fusion::kFused) {
    constexpr std::string_view kName = "ffn_gate_up_exps.weight";
    const RowPart gates = {own.first_row, own.rows, 2 * own.all_rows};
    const RowPart ups = {own.all_rows + own.first_row, own.rows, 2 * own.all_rows};
    tensors.SlicesPart(kName, count, gates, width, &experts.gate);
    tensors.SlicesPart(kName, count, ups, width, &experts.up);
  } else {
    if (experts.is_gated()) {
      tensors.SlicesPart("ffn_gate_exps.weight", count, own, width, &experts.gate);
    }
    tensors.SlicesPart("ffn_up_exps.weight", count, own, width, &experts.up);
  }
  tensors.SlicesPart("ffn_down_exps.weight", count, experts.OutputPart(), experts.hidden,
                     &experts.down);
}

void AddGathers(const Experts& experts, int64_t rows, StepWork& work) {
  if (experts.latent > 0) {
    AddGather(experts.LatentPart(), rows, work);
    AddGather(experts.OutputPart(), experts.latent_up, rows, work);
  }
  AddGather(experts.HiddenPart(), rows * experts.used, work);
  if (experts.has_shared()) AddGather(experts.shared.HiddenPart(), rows, work);
  AddGather(experts.StreamPart(), rows, work);
}

void AddSharedWork(const Experts& experts, int64_t rows, StepWork& work) {
  const SharedExpert& shared = experts.shared;
  const std::array readers = {&shared.up, &shared.gate};
  AddWork(std::span(readers).first(experts.is_gated() ? 2 : 1), rows, Phase::kGateUp, work);
  AddWork(std::array{&shared.down}, rows, Phase::kDown, work);
  if (shared.weight == SharedWeight::kSigmoid) {
    AddProductWork(shared.selector, rows, Phase::kRoute, work);
  }
}

}  // namespace

Status Validate(const Experts& experts) {
  RETURN_IF_ERROR(InRange("expert count", experts.count, 1, kMaxExperts));
  RETURN_IF_ERROR(ValidateGroups(experts));
  RETURN_IF_ERROR(NotNegative("limit of the experts' gates", experts.limit));
  RETURN_IF_ERROR(NotNegative("limit of the shared expert's gates", experts.shared.limit));
  CHECK(experts.limit == 0 || experts.function == Gate::kSilu);
  RETURN_IF_ERROR(Positive("expert weights scale", experts.rule.scale));
  RETURN_IF_ERROR(Positive("scale of the router's scores", experts.score_scale));
  RETURN_IF_ERROR(Validate(experts.router_norm));
  RETURN_IF_ERROR(
      InRange("shared expert feed forward length", experts.shared.hidden, 0, kMaxWidth));
  RETURN_IF_ERROR(InRange("latent length of the experts", experts.latent, 0, kMaxWidth));
  // No published mixture has these together.
  CHECK(experts.is_gated() ||
        (experts.fusion == Fusion::kSeparate && experts.biases == Biases::kNone));
  CHECK(experts.latent == 0 ||
        (experts.biases == Biases::kNone && experts.weight == ExpertWeight::kOfOutput));
  return InRange("expert feed forward length", experts.hidden, 1, kMaxWidth);
}

Status Split(const Rank& rank, Experts& experts) {
  experts.hidden_rows = PanelsOf(experts.hidden, rank);
  experts.output_rows = PanelsOf(experts.expert_width(), rank);
  experts.stream_rows = PanelsOf(experts.width, rank);
  if (experts.latent > 0) experts.latent_rows = PanelsOf(experts.latent, rank);
  if (experts.has_shared()) experts.shared.hidden_rows = PanelsOf(experts.shared.hidden, rank);
  return Ok();
}

void Declare(Experts& experts, TensorList& tensors) {
  const int64_t count = experts.count;
  const int64_t width = experts.width;
  tensors.Matrix("ffn_gate_inp.weight", count, width, &experts.router);
  Declare(experts.router_norm, "ffn_gate_inp", width, tensors);
  if (experts.output_scale == ExpertScale::kLearned) {
    tensors.Vector("ffn_down_exps.scale", count, &experts.output_factors);
  }
  if (experts.biases == Biases::kOfAll) {
    tensors.Vector("ffn_gate_inp.bias", count, &experts.router_bias);
    tensors.TablePart("ffn_gate_exps.bias", count, experts.HiddenPart(), &experts.gate_bias);
    tensors.TablePart("ffn_up_exps.bias", count, experts.HiddenPart(), &experts.up_bias);
    tensors.TablePart("ffn_down_exps.bias", count, experts.OutputPart(), &experts.down_bias);
  }
  if (!experts.choice_bias_name.empty()) {
    tensors.Vector(experts.choice_bias_name, count, &experts.choice_bias, Presence::kOptional);
  }
  if (experts.has_shared()) DeclareShared(experts, tensors);
  if (experts.latent > 0) {
    tensors.MatrixPart("ffn_latent_down.weight", experts.LatentPart(), width, &experts.latent_down);
    tensors.MatrixPart("ffn_latent_up.weight", experts.StreamPart(), experts.latent,
                       &experts.latent_up);
  }
  DeclareSlices(experts, tensors);
}

Needs Size(const Experts& experts, const StepLimits& limits) {
  Carver carver(nullptr);
  LayoutExperts(experts, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  const int64_t slots = limits.rows * experts.used;
  needs.AddInput(limits.rows, experts.width);
  needs.AddInput(slots, experts.expert_width());
  needs.AddInput(slots, experts.hidden);
  if (experts.has_shared()) {
    needs.AddInput(SharedPlace(experts, slots) + limits.rows, experts.shared.hidden);
  }
  return needs;
}

void AddWork(const Experts& experts, int64_t rows, StepWork& work) {
  AddWork(std::array{&experts.router}, rows, Phase::kRoute, work);
  if (experts.has_shared()) AddSharedWork(experts, rows, work);
  if (experts.latent > 0) {
    AddProductWork(experts.latent_down, rows, Phase::kRoute, work);
    AddWork(std::array{&experts.latent_up}, rows, Phase::kDown, work);
  }
  const int64_t uses = rows * experts.used;
  const double read = ExpertsRead(experts, rows);
  const auto add = [&](const kernels::PackedMatrix& matrix, Phase phase) {
    Work each = MultiplyWork(matrix, uses);
    each.bytes *= read;
    AddProductWork(matrix, uses, phase, each, work);
  };
  if (experts.is_gated()) add(experts.gate[0], Phase::kGateUp);
  add(experts.up[0], Phase::kGateUp);
  add(experts.down[0], Phase::kDown);
  Work& prepare = work[Phase::kPrepare];
  // One row is prepared once for all its experts.
  const bool once = rows == 1 && experts.latent == 0;
  const std::array readers = {&experts.up[0], experts.gate.data()};
  prepare.Add(PrepareWork(std::span(readers).first(experts.is_gated() ? 2 : 1), once ? 1 : uses));
  prepare.Add(PrepareWork(std::array{&experts.down[0]}, uses));
  work[Phase::kRoute].bytes +=
      static_cast<double>(uses * experts.expert_width() * int64_t{sizeof(float)});
  AddGathers(experts, rows, work);
}

}  // namespace skald::model
