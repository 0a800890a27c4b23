/// The buffers of Mla in the workspace, and how its work is cut into units.
#pragma once

#include <cstdint>

#include "model/blocks/mla/mla.h"
#include "model/workspace.h"

namespace skald::model {

/// Rows of the attention matrix (tokens x heads) of one unit of work: as many as attention handles
/// at once, so that what it does with the latents is shared by all of them.
inline constexpr int64_t kMlaUnitRows = 128;
/// Heads of a unit: the most, and the fewest, where there are threads for more units. Each unit
/// turns the latents anew, which costs as much as about four heads.
inline constexpr int64_t kMlaUnitHeads = 16;
inline constexpr int64_t kMlaFewestHeads = 4;
/// Tokens of a unit: enough that the matrices of a head stay in L2 for many of them.
inline constexpr int64_t kMlaUnitTokens = 32;

/// What one worker has of its own, for one unit.
struct MlaWorker {
  int index = 0;
  float* query = nullptr;         ///< [tokens][heads][rank + rope_dim]
  float* pinned_query = nullptr;  ///< the same of endless texts, for the pinned positions
  float* mixed = nullptr;         ///< [tokens][heads][rank]: weighted sums of latents
  Rows product = {};              ///< [tokens][the larger of rank and value_dim]
  std::byte* tiles = nullptr;
};

struct MlaBuffers {
  Rows query_latent;  ///< [rows][query_rank], if there is one
  Rows query;         ///< [rows][heads * query_dim]
  Rows latent;        ///< [rows][rank + rope_dim]
  Rows heads;         ///< [rows][heads * value_dim]
  std::byte* workers = nullptr;
};

MlaBuffers LayOut(const Mla& mla, const StepLimits& limits, Carver& carver);

/// The part of `worker`.
MlaWorker WorkerOf(const Mla& mla, const MlaBuffers& buffers, int worker);

/// Tokens and heads of a unit of a sequence of `rows` rows; the last ones may have fewer. `share`:
/// rows of the attention matrix of the step that a thread has.
struct MlaUnitShape {
  int64_t tokens;
  int64_t heads;
};
MlaUnitShape UnitShapeOf(const Mla& mla, int64_t rows, int64_t share);

}  // namespace skald::model
