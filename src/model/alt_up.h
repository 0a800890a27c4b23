/// AltUp: several residual streams side by side, of which the blocks of a layer work on one; the
/// others are predicted and corrected (Baykal et al. 2023; Gemma 3n, 2025). Numerics 3.21.
///
///     m(x) = tanh(router * norm(x) / width)
///
///     p_j = s_j + sum over t of (predict * m(s_0))_jt s_t;  x = p_0       before the layer
///     s_j = p_j + (1 + (correct * m(x))_j) (x - p_0)                      behind its blocks
///
/// The network opens the streams: s_0 is the embedding, s_j a matrix of it, as long as s_0. At the
/// end it closes them: the mean of s_0 and of a matrix of each other stream, as long as s_0.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/norm.h"
#include "model/rank.h"
#include "model/step_batch.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// What a layer has of it. Sizes are in elements.
struct AltUp {
  int64_t width = 0;
  int64_t streams = 0;
  Norm router_norm = {};

  kernels::PackedMatrix router = {};    ///< [streams][width]
  std::vector<float> predict = {};      ///< [streams * streams][streams]: row j * streams + t
  std::vector<float> correct = {};      ///< [streams][streams]
  std::vector<float> input_scale = {};  ///< [width]: of s_0, where the layer has an input
};

/// What the network has of it. Sizes are in elements.
struct Streams {
  int64_t width = 0;
  int64_t count = 0;  ///< 0: there is the one residual stream
  RowPart rows = {};  ///< of each matrix, those of a rank

  std::vector<kernels::PackedMatrix> open = {};   ///< count - 1 of [width][width]
  std::vector<kernels::PackedMatrix> close = {};  ///< the same

  bool exist() const { return count > 0; }
  RowPart Part() const { return PartOf(rows, width); }
  /// Floats from one stream of a row to the next.
  int64_t stride() const { return RoundUp<int64_t>(width, kernels::kPanelRows); }
};

/// Far above any published model.
inline constexpr int64_t kMaxStreams = 16;

/// Check the numbers. Errors: kBadModel.
Status Validate(const AltUp& alt_up);
Status Validate(const Streams& streams);

/// Leaves a rank its rows; AltUp, which is small, stands in every rank.
void Split(const Rank& rank, Streams& streams);

/// Their tensors.
void Declare(AltUp& alt_up, TensorList& tensors);
void Declare(Streams& streams, TensorList& tensors);

/// What they need of the workspace, beside its streams.
Needs Size(const AltUp& alt_up, const StepLimits& limits);
Needs Size(const Streams& streams, const StepLimits& limits);

/// Fills workspace.streams from the residual stream, for `rows` rows.
void Open(const Streams& streams, int64_t rows, const Context& context);

/// Fills the residual stream from workspace.streams.
void Close(const Streams& streams, int64_t rows, const Context& context);

/// Replaces the streams by what is predicted of them, and the residual stream by the first.
void Predict(const AltUp& alt_up, int64_t rows, const Context& context);

/// Corrects the streams by what the layer's blocks made of the first, which `input` brings as the
/// residual stream and what is still to be added. The residual stream becomes what the layer's
/// input reads.
void Correct(const AltUp& alt_up, const Input& input, const Context& context);

/// Adds what a layer's input gives, workspace.projected, normed, to all streams but the first.
void AddToStreams(const AltUp& alt_up, const Norm& norm, int64_t rows, const Context& context);

/// Count what Predict and Correct do for `rows` rows, and what Open does for those of `shape` and
/// Close for those that have logits.
void AddWork(const AltUp& alt_up, int64_t rows, StepWork& work);
void AddWork(const Streams& streams, const StepShape& shape, StepWork& work);

}  // namespace skald::model
