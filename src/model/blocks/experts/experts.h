/// Experts: a mixture of feed-forwards, of which each row uses a few (Shazeer et al. 2017;
/// Jiang et al. 2024), and where the family has one, a shared feed-forward that every row uses (Dai
/// et al. 2024).
///
///     sum over the chosen e, ascending, of w_e * down_e * (silu(gate_e * h) . (up_e * h))
///     + v * down_s * (silu(gate_s * h) . (up_s * h))
///
/// In some families the experts have no gate: down_e * max(up_e * h, 0)^2, or the GELU. In some the
/// chosen ones work on a narrower row, latent_down * h, and latent_up * their sum is what they
/// give.
///
/// Rows are grouped by expert, so that a step reads each expert that it needs once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/pack/panel.h"
#include "kernels/route/route.h"
#include "model/blocks/gated/gated.h"
#include "model/blocks/linear.h"
#include "model/blocks/plain/plain.h"
#include "model/norm.h"
#include "model/rank.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Far above any published model.
inline constexpr int64_t kMaxExperts = 1024;

/// What w_e multiplies.
enum class ExpertWeight : uint8_t {
  kOfOutput,  ///< y_e
  kOfInput,   ///< h, before it goes into the expert; y_e is added as it is
};

/// The factor v of the shared expert.
enum class SharedWeight : uint8_t {
  kOne,
  kSigmoid,  ///< sigmoid(selector * h)
};

/// Sizes are in elements.
struct SharedExpert {
  int64_t hidden = 0;  ///< of gate and up; 0: there is none
  SharedWeight weight = SharedWeight::kOne;
  float limit = 0;           ///< as Gated's
  RowPart hidden_rows = {};  ///< of gate and up: those of a rank

  kernels::PackedMatrix gate = {}, up = {}, down = {};
  kernels::PackedMatrix selector = {};  ///< [1][width]

  RowPart HiddenPart() const { return PartOf(hidden_rows, hidden); }
};

/// What an expert is, the shared one too.
enum class ExpertForm : uint8_t {
  kGated,  ///< as Gated
  kPlain,  ///< as Plain, with `activation`
};

/// Whether what an expert gives has a factor of its own in the file.
enum class ExpertScale : uint8_t { kNone, kLearned };

/// Whether all products of a mixture have biases.
enum class Biases : uint8_t { kNone, kOfAll };

/// Sizes are in elements.
struct Experts {
  int64_t width = 0;   ///< of the residual stream
  int64_t hidden = 0;  ///< of gate and up of each expert
  int64_t count = 0;   ///< experts
  int64_t used = 0;    ///< by each row
  int64_t latent = 0;  ///< of the rows that the chosen experts work on; 0: those of the stream
  kernels::RouteRule rule = {};
  ExpertWeight weight = ExpertWeight::kOfOutput;
  /// Of the tensor that changes the choice alone, which may be missing; empty: there is none.
  std::string_view choice_bias_name = {};
  /// Where the router reads the residual stream through a norm of its own: not what the experts
  /// read.
  Norm router_norm = {.kind = NormKind::kNone};
  float score_scale = 1;  ///< of the router's product
  ExpertScale output_scale = ExpertScale::kNone;
  SharedExpert shared = {};
  ExpertForm form = ExpertForm::kGated;
  Gate function = Gate::kSilu;                       ///< of gated experts, not of the shared one
  Activation activation = Activation::kReluSquared;  ///< of plain ones, of the shared one too
  float limit = 0;                                   ///< as Gated's, not of the shared one
  Biases biases = Biases::kNone;                     ///< of router, gate, up and down
  Fusion fusion = Fusion::kSeparate;                 ///< of gate and up of each expert: gate above
  RowPart hidden_rows = {};  ///< of gate and up of each expert: those of a rank
  RowPart output_rows = {};  ///< of down of each expert: those of a rank
  RowPart stream_rows = {};  ///< of what gives rows of the stream: the shared down, latent_up
  RowPart latent_rows = {};  ///< of latent_down

  kernels::PackedMatrix router = {};                                 ///< [count][width]
  std::vector<float> choice_bias = {};                               ///< [count], or empty
  std::vector<float> output_factors = {};                            ///< [count], or empty
  std::vector<kernels::PackedMatrix> gate = {}, up = {}, down = {};  ///< by expert; gate or none
  kernels::PackedMatrix latent_down = {}, latent_up = {};            ///< where there is a latent
  std::vector<float> router_bias = {};                               ///< [count], or empty
  /// [count][hidden], and of down [count][width]; or empty.
  std::vector<float> gate_bias = {}, up_bias = {}, down_bias = {};

  bool has_shared() const { return shared.hidden > 0; }
  bool is_gated() const { return form == ExpertForm::kGated; }
  /// Of what the chosen experts read and give.
  int64_t expert_width() const { return latent > 0 ? latent : width; }
  RowPart HiddenPart() const { return PartOf(hidden_rows, hidden); }
  RowPart OutputPart() const { return PartOf(output_rows, expert_width()); }
  RowPart StreamPart() const { return PartOf(stream_rows, width); }
  RowPart LatentPart() const { return PartOf(latent_rows, latent); }
};

/// What a call tree calls it.
inline constexpr std::string_view NameOf(const Experts&) { return "mixture of experts"; }

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Experts& experts);

/// Leaves a rank its rows of every expert. Errors: none.
Status Split(const Rank& rank, Experts& experts);

/// Its tensors.
void Declare(Experts& experts, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Experts& experts, const StepLimits& limits);

/// Computes the block for the rows of `input` into workspace.projected (numerics 3.10).
void Run(const Experts& experts, const Input& input, const Context& context);

/// Counts what Run does for `rows` rows. How many experts they read depends on what they are: the
/// bytes are those of rows that choose independently and evenly.
void AddWork(const Experts& experts, int64_t rows, StepWork& work);

}  // namespace skald::model
