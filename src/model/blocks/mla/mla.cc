#include "model/blocks/mla/mla.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/attention/attention.h"
#include "model/blocks/gathered.h"
#include "model/blocks/mla/buffers.h"
#include "model/checks.h"

namespace skald::model {
namespace {

MlaWorker LayOutWorker(const Mla& mla, Carver& carver) {
  const auto floats = [&](int64_t count) {
    return reinterpret_cast<float*>(carver.Bytes(count * int64_t{sizeof(float)}));
  };
  MlaWorker worker;
  worker.query = floats(kMlaUnitRows * mla.key_dim());
  if (mla.pinned > 0) worker.pinned_query = floats(kMlaUnitRows * mla.key_dim());
  worker.mixed = floats(kMlaUnitRows * mla.rank);
  worker.product = carver.Matrix(kMlaUnitTokens, std::max(mla.rank, mla.value_dim));
  worker.tiles = carver.Bytes(OwnTileBytes(kMlaUnitTokens, std::max(mla.rank, mla.nope_dim)));
  return worker;
}

int64_t WorkerBytes(const Mla& mla) {
  Carver carver(nullptr);
  LayOutWorker(mla, carver);
  return carver.used();
}

Status ValidateRope(const Mla& mla, std::span<const Rope> ropes) {
  if (!mla.rope) return Ok();
  CHECK(*mla.rope < ropes.size());
  return InRange("rope dimension", ropes[*mla.rope].rotated, mla.rope_dim, mla.rope_dim);
}

}  // namespace

MlaBuffers LayOut(const Mla& mla, const StepLimits& limits, Carver& carver) {
  MlaBuffers buffers;
  if (mla.has_query_rank()) buffers.query_latent = carver.Matrix(limits.rows, mla.query_rank);
  buffers.query = carver.Matrix(limits.rows, mla.query_width());
  buffers.latent = carver.Matrix(limits.rows, mla.key_dim());
  buffers.heads = carver.Matrix(limits.rows, mla.HeadPart(mla.value_dim).all_rows);
  buffers.workers = carver.Bytes(limits.threads * WorkerBytes(mla));
  return buffers;
}

MlaWorker WorkerOf(const Mla& mla, const MlaBuffers& buffers, int worker) {
  Carver carver(buffers.workers + worker * WorkerBytes(mla));
  MlaWorker own = LayOutWorker(mla, carver);
  own.index = worker;
  return own;
}

MlaUnitShape UnitShapeOf(const Mla& mla, int64_t rows, int64_t share) {
  const int64_t tokens = std::min(rows, kMlaUnitTokens);
  const int64_t heads = std::clamp(share / tokens, kMlaFewestHeads, kMlaUnitHeads);
  return {tokens, std::min({mla.heads, heads, kMlaUnitRows / tokens})};
}

Status Validate(const Mla& mla, std::span<const Rope> ropes) {
  RETURN_IF_ERROR(InRange("head count", mla.heads, 1, kMaxHeads));
  RETURN_IF_ERROR(InRange("KV rank", mla.rank, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("query rank", mla.query_rank, 0, kMaxQueryRank));
  RETURN_IF_ERROR(InRange("turned part of the key length", mla.rope_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(
      InRange("part of the key length that is not turned", mla.nope_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("value length", mla.value_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(Positive("attention scale", mla.scale));
  RETURN_IF_ERROR(Validate(mla.temperature));
  RETURN_IF_ERROR(Validate(mla.query_norm));
  RETURN_IF_ERROR(Validate(mla.latent_norm));
  return ValidateRope(mla, ropes);
}

Status Split(const Rank& rank, Mla& mla) {
  if (rank.count > mla.heads) {
    return TooManyRanks(rank, std::to_string(mla.heads) + " heads of latent attention");
  }
  mla.query_down_rows = PanelsOf(mla.query_rank, rank);
  mla.latent_rows = PanelsOf(mla.key_dim(), rank);
  mla.output_rows = PanelsOf(mla.width, rank);
  mla.head_rows = ShareOf(mla.heads, rank);
  mla.heads = mla.head_rows.rows;
  return Ok();
}

void Declare(Mla& mla, TensorList& tensors) {
  const RowPart heads = mla.HeadPart(1);
  const RowPart query = mla.HeadPart(mla.query_dim());
  if (mla.has_query_rank()) {
    tensors.MatrixPart("attn_q_a.weight", mla.QueryDownPart(), mla.width, &mla.query_down);
    Declare(mla.query_norm, "attn_q_a_norm", mla.query_rank, tensors);
    tensors.MatrixPart("attn_q_b.weight", query, mla.query_rank, &mla.query);
  } else {
    tensors.MatrixPart("attn_q.weight", query, mla.width, &mla.query);
  }
  tensors.MatrixPart("attn_kv_a_mqa.weight", mla.LatentPart(), mla.width, &mla.latent);
  Declare(mla.latent_norm, "attn_kv_a_norm", mla.rank, tensors);
  if (mla.key_value == Fusion::kFused) {
    const RowPart keys = {0, mla.nope_dim, mla.nope_dim + mla.value_dim};
    const RowPart values = {keys.rows, mla.value_dim, keys.all_rows};
    tensors.StackedColumns("attn_kv_b.weight", heads, keys, mla.rank, &mla.key_up);
    tensors.StackedPart("attn_kv_b.weight", heads, values, mla.rank, &mla.value_up);
  } else {
    tensors.SomeSlices("attn_k_b.weight", heads, mla.rank, mla.nope_dim, &mla.key_up);
    tensors.SomeSlices("attn_v_b.weight", heads, mla.value_dim, mla.rank, &mla.value_up);
  }
  tensors.MatrixPart("attn_output.weight", mla.OutputPart(), mla.HeadPart(mla.value_dim).all_rows,
                     &mla.output);
}

Needs Size(const Mla& mla, const StepLimits& limits) {
  Carver carver(nullptr);
  LayOut(mla, limits, carver);
  int64_t scratch_floats = 0;
  // A unit has any number of heads up to the most.
  for (int64_t heads = 1; heads <= std::min(mla.heads, kMlaUnitHeads); ++heads) {
    scratch_floats =
        std::max(scratch_floats, kernels::AttentionScratchFloats(static_cast<int>(mla.key_dim()),
                                                                 static_cast<int>(mla.rank),
                                                                 static_cast<int>(heads)));
  }
  Needs needs = {.buffer_bytes = carver.used(),
                 .scratch_bytes = scratch_floats * int64_t{sizeof(float)}};
  needs.AddInput(limits.rows, mla.width);
  needs.AddInput(limits.rows, mla.query_rank);
  needs.AddInput(limits.rows, mla.HeadPart(mla.value_dim).all_rows);
  return needs;
}

kv::KvShape Cache(const Mla& mla) {
  return {.kv_heads = 1,
          .key_dim = static_cast<int>(mla.key_dim()),
          .value_dim = static_cast<int>(mla.rank),
          .values = kernels::ValuePlace::kInKeys};
}

int64_t StateFloats(const Mla&) { return 0; }

void AddWork(const Mla& mla, const MixerShape& shape, StepWork& work) {
  const StepShape& step = shape.step;
  if (mla.has_query_rank()) {
    AddWork(std::array{&mla.query_down, &mla.latent}, step.rows, Phase::kQkv, work);
    AddWork(std::array{&mla.query}, shape.rows_kept, Phase::kQkv, work);
  } else {
    AddWork(std::array{&mla.query, &mla.latent}, step.rows, Phase::kQkv, work);
  }
  if (mla.has_query_rank()) AddGather(mla.QueryDownPart(), step.rows, work);
  AddGather(mla.LatentPart(), step.rows, work);
  const auto position_bytes = static_cast<double>(Cache(mla).position_bytes(shape.layout.types));
  work[Phase::kRope].bytes +=
      static_cast<double>(step.rows) *
      (2 * double{sizeof(float)} * static_cast<double>(mla.key_dim()) + position_bytes);
  if (shape.rows_kept == 0) return;
  const auto sequences = static_cast<double>(step.sequences);
  const int64_t end = step.first_position + step.rows / step.sequences;
  const int64_t rows_each = std::max<int64_t>(1, shape.rows_kept / step.sequences);
  const Visible visible =
      VisibleTo({.window = mla.window, .pinned = mla.pinned}, end - rows_each, rows_each);
  const auto macs = static_cast<double>(mla.heads * (mla.key_dim() + mla.rank));
  work.Add({.phase = Phase::kAttention,
            .input = {shape.rows_kept, mla.heads, mla.key_dim()},
            .other = {static_cast<int64_t>(visible.by_sequence), mla.key_dim()},
            .output = {shape.rows_kept, mla.heads, mla.rank},
            .work = {.float_macs = sequences * visible.by_rows * macs,
                     .bytes = sequences * visible.by_sequence * position_bytes}});
  for (const auto* matrices : {&mla.key_up, &mla.value_up}) {
    for (const kernels::PackedMatrix& matrix : *matrices) {
      AddProductWork(matrix, shape.rows_kept, Phase::kAttention, work);
    }
  }
  AddWork(std::array{&mla.output}, shape.rows_kept, Phase::kOutput, work);
  AddGather(mla.HeadPart(mla.value_dim), mla.output, shape.rows_kept, work);
  AddGather(mla.OutputPart(), shape.rows_kept, work);
}

}  // namespace skald::model
