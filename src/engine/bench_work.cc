#include "engine/bench_work.h"

#include <algorithm>
#include <initializer_list>

namespace skald::engine {
namespace {

using kernels::ActivationFormat;
using kernels::PackedMatrix;
using model::Phase;

constexpr double kFloatBytes = sizeof(float);

BenchWork& Of(StepWork& work, Phase phase) { return work[static_cast<size_t>(phase)]; }

void AddMatmul(const PackedMatrix& matrix, int64_t rows, BenchWork& work) {
  const double macs = static_cast<double>(rows) * static_cast<double>(matrix.rows) *
                      static_cast<double>(matrix.cols);
  const bool is_float = kernels::InfoOf(matrix.type).activation == ActivationFormat::kF32;
  (is_float ? work.float_macs : work.int8_macs) += macs;
  work.bytes += static_cast<double>(matrix.panel_count() * matrix.panel_bytes());
}

// Norm and quantization before matrices that share an input: the rows are read and written in the
// format of each kind of matrix.
void AddPrepare(std::initializer_list<const PackedMatrix*> matrices, int64_t rows,
                BenchWork& work) {
  std::array<bool, 3> needed = {};
  const int64_t cols = (*matrices.begin())->cols;
  for (const PackedMatrix* matrix : matrices) {
    needed[static_cast<size_t>(kernels::InfoOf(matrix->type).activation)] = true;
  }
  double row_bytes = kFloatBytes * static_cast<double>(cols);
  for (size_t format = 0; format < needed.size(); ++format) {
    if (!needed[format]) continue;
    row_bytes +=
        static_cast<double>(kernels::ActivationBytes(static_cast<ActivationFormat>(format), cols));
  }
  work.bytes += static_cast<double>(rows) * row_bytes;
}

// Positions that the rows of one sequence see, added up, and those that at least one row sees.
struct Visible {
  double by_rows = 0;
  double by_sequence = 0;
};

Visible VisibleTo(int64_t first_position, int64_t rows, int64_t window) {
  Visible visible;
  for (int64_t position = first_position; position < first_position + rows; ++position) {
    const int64_t seen = window > 0 ? std::min(window, position + 1) : position + 1;
    visible.by_rows += static_cast<double>(seen);
  }
  const int64_t end = first_position + rows;
  visible.by_sequence = static_cast<double>(window > 0 ? std::min(end, rows + window - 1) : end);
  return visible;
}

// Bytes of K and V of one position in one layer.
double LayerPositionBytes(const kv::KvLayout& layout) {
  return static_cast<double>(layout.position_bytes()) / static_cast<double>(layout.layers);
}

// Attention of the last `rows` rows of a step.
void AddAttention(const model::ModelConfig& config, const kv::KvLayout& layout,
                  const StepShape& shape, int64_t rows, StepWork& work) {
  if (rows == 0) return;
  const auto sequences = static_cast<double>(shape.sequences);
  const int64_t end = shape.first_position + shape.rows / shape.sequences;
  const int64_t rows_each = std::max<int64_t>(1, rows / shape.sequences);
  const Visible visible = VisibleTo(end - rows_each, rows_each, config.window);
  BenchWork& attention = Of(work, Phase::kAttention);
  attention.float_macs += sequences * visible.by_rows * static_cast<double>(config.heads) *
                          static_cast<double>(config.key_dim + config.value_dim);
  attention.bytes += sequences * visible.by_sequence * LayerPositionBytes(layout);
}

void AddRope(const model::ModelConfig& config, const kv::KvLayout& layout, int64_t rows,
             StepWork& work) {
  const auto heads_width = static_cast<double>(config.query_width() + config.key_width());
  Of(work, Phase::kRope).bytes +=
      static_cast<double>(rows) *
      (2 * kFloatBytes * heads_width + kFloatBytes * static_cast<double>(config.value_width()) +
       LayerPositionBytes(layout));
}

}  // namespace

void AddStep(const model::Transformer& network, const kv::KvLayout& layout, const StepShape& shape,
             StepWork& work) {
  const model::ModelConfig& config = network.config();
  const model::Weights& weights = network.weights();
  const auto rows = static_cast<double>(shape.rows);
  const auto width = static_cast<double>(config.embedding);
  Of(work, Phase::kEmbed).bytes +=
      rows * (kFloatBytes * width +
              static_cast<double>(weights.token_embedding.panel_bytes()) / kernels::kPanelRows);
  BenchWork& prepare = Of(work, Phase::kPrepare);
  for (const model::LayerWeights& layer : weights.layers) {
    AddPrepare({&layer.query, &layer.key, &layer.value}, shape.rows, prepare);
    for (const PackedMatrix* matrix : {&layer.query, &layer.key, &layer.value}) {
      AddMatmul(*matrix, shape.rows, Of(work, Phase::kQkv));
    }
    AddRope(config, layout, shape.rows, work);
    // Behind K and V of the last layer only the rows whose logits are wanted go on.
    const int64_t kept = &layer == &weights.layers.back() ? shape.logit_rows : shape.rows;
    if (kept == 0) break;
    const auto kept_rows = static_cast<double>(kept);
    AddAttention(config, layout, shape, kept, work);
    AddPrepare({&layer.attention_output}, kept, prepare);
    AddMatmul(layer.attention_output, kept, Of(work, Phase::kOutput));
    AddPrepare({&layer.gate, &layer.up}, kept, prepare);
    AddMatmul(layer.gate, kept, Of(work, Phase::kGateUp));
    AddMatmul(layer.up, kept, Of(work, Phase::kGateUp));
    AddPrepare({&layer.down}, kept, prepare);
    AddMatmul(layer.down, kept, Of(work, Phase::kDown));
    prepare.bytes += kept_rows * 2 * 2 * kFloatBytes * width;  // two sums: read, written
  }
  if (shape.logit_rows == 0) return;
  AddPrepare({&weights.output}, shape.logit_rows, prepare);
  AddMatmul(weights.output, shape.logit_rows, Of(work, Phase::kHead));
}

BenchWork Essential(const StepWork& work) {
  BenchWork sum;
  for (const Phase phase :
       {Phase::kQkv, Phase::kOutput, Phase::kGateUp, Phase::kDown, Phase::kHead}) {
    const BenchWork& part = work[static_cast<size_t>(phase)];
    sum.int8_macs += part.int8_macs;
    sum.float_macs += part.float_macs;
    sum.bytes += part.bytes;
  }
  sum.bytes += work[static_cast<size_t>(Phase::kAttention)].bytes;
  return sum;
}

}  // namespace skald::engine
