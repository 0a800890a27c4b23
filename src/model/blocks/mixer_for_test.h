/// One mixer with random float weights, by itself, for tests that compare it with its formula in
/// double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/isa/isa.h"
#include "model/network.h"
#include "model/step_tap.h"
#include "model/workspace.h"

namespace skald::model {

using Vector = std::vector<double>;

/// Elements of -1 .. 1.
inline std::vector<float> RandomFloats(int64_t count, std::mt19937& random) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(random() % 20001) * 1e-4f - 1.0f);
  }
  return values;
}

template <typename Mixer>
class MixerForTest {
 public:
  MixerForTest(const Mixer& numbers, std::vector<Rope> ropes) {
    network_.vocab = 1;
    network_.width = numbers.width;
    network_.context = kPositions;
    network_.ropes = std::move(ropes);
    network_.layers.resize(1);
    network_.layers[0].mixer = numbers;
    network_.layers[0].feed_forward = None{};
    CHECK(Validate(mixer(), network_.ropes).ok());
    TensorList tensors;
    Declare(std::get<Mixer>(network_.layers[0].mixer), tensors);
    for (const TensorSlot& slot : tensors.Take()) Fill(slot);
  }

  const Mixer& mixer() const { return std::get<Mixer>(network_.layers[0].mixer); }
  const Network& network() const { return network_; }

  /// What the mixer gives for rows of one sequence, `chunk` of them in a step.
  std::vector<Vector> Run(const std::vector<Vector>& rows, int64_t chunk,
                          StepProfile* profile = nullptr) const {
    const auto count = static_cast<int64_t>(rows.size());
    const kv::KvLayout layout = KvLayoutOf(network_, kernels::KvType::kF32);
    kv::KvStore store = *kv::KvStore::Create(layout, kPages);
    kv::StateStore states =
        *kv::StateStore::Create({.floats = StateFloatsOf(network_), .slots = 1});
    Workspace workspace = *Workspace::Create(network_, {.rows = chunk});
    const kernels::KernelTable kernels = kernels::TableFor(kernels::DetectIsa());
    ThreadPool pool(1);
    const std::vector<RopeTable> ropes = RopeTablesOf(network_, kPositions);
    std::vector<kv::PageId> pages(kPages);
    std::iota(pages.begin(), pages.end(), 0);
    const std::vector<TokenId> tokens(rows.size());
    std::vector<Vector> out;
    for (int64_t first = 0; first < count; first += chunk) {
      const int64_t now = std::min(chunk, count - first);
      for (int64_t i = 0; i < now; ++i) {
        std::copy_n(rows[static_cast<size_t>(first + i)].begin(), network_.width,
                    workspace.residual.row(i));
      }
      const std::vector<SequenceRows> sequences = {{now, first, pages, 0}};
      const StepBatch batch = {.tokens = std::span(tokens).first(static_cast<size_t>(now)),
                               .sequences = sequences,
                               .logit_rows = {}};
      model::Run(mixer(), {.rows = workspace.residual, .row_count = now},
                 {batch, {}, RowsKept::kAll},
                 {store, workspace, ropes, {kernels, pool, profile}, &states});
      for (int64_t i = 0; i < now; ++i) {
        const float* row = workspace.projected.row(i);
        out.emplace_back(row, row + network_.width);
      }
    }
    return out;
  }

  /// The values that it shows of itself for rows of one sequence in one step.
  std::vector<PartValues> Shown(const std::vector<Vector>& rows) const {
    StepTap tap({.values = true});
    std::vector<PartSeconds> parts;
    StepProfile profile;
    profile.parts = &parts;
    profile.tap = &tap;
    profile.Enter({PartKind::kMixer, 0});
    Run(rows, std::ssize(rows), &profile);
    return tap.Take().values;
  }

  std::vector<Vector> RandomRows(int64_t count) {
    std::vector<Vector> rows;
    for (int64_t i = 0; i < count; ++i) {
      const std::vector<float> row = RandomFloats(network_.width, random_);
      rows.emplace_back(row.begin(), row.end());
    }
    return rows;
  }

 private:
  static constexpr int64_t kPages = 4;
  static constexpr int64_t kPositions = kPages * kernels::kPageTokens;

  void Fill(const TensorSlot& slot) {
    if (slot.is_vector()) {
      slot.vector() = RandomFloats(slot.rows * slot.cols, random_);
      // What a state keeps is a share of it.
      if (slot.name == "ssm_a") {
        for (float& rate : slot.vector()) rate = -std::abs(rate);
      }
      return;
    }
    for (kernels::PackedMatrix& matrix : slot.matrices()) matrix = Pack(slot);
  }

  kernels::PackedMatrix Pack(const TensorSlot& slot) {
    kernels::PackedMatrix matrix{kernels::PanelType::kF32, slot.rows, slot.cols};
    storage_.push_back(
        *AlignedBuffer::Create(static_cast<uint64_t>(matrix.panel_count() * matrix.panel_bytes())));
    std::vector<float> values = RandomFloats(slot.rows * slot.cols, random_);
    // Rows of them keep the size of a vector.
    for (float& value : values) value *= 2 / std::sqrt(static_cast<float>(slot.cols));
    for (int64_t row = 0; row < slot.rows; row += kernels::kPanelRows) {
      const int64_t count = std::min<int64_t>(kernels::kPanelRows, slot.rows - row);
      const auto part = std::span(values).subspan(static_cast<size_t>(row * slot.cols),
                                                  static_cast<size_t>(count * slot.cols));
      kernels::PackPanel(tensor::DType::kF32, std::as_bytes(part), static_cast<int>(count),
                         slot.cols,
                         storage_.back().data() + row / kernels::kPanelRows * matrix.panel_bytes());
    }
    matrix.panels = storage_.back().data();
    return matrix;
  }

  std::mt19937 random_{5};
  Network network_;
  std::vector<AlignedBuffer> storage_;
};

/// The formulas, in double precision.
inline Vector Times(const kernels::PackedMatrix& matrix, std::span<const double> x) {
  std::vector<float> weights(static_cast<size_t>(matrix.cols));
  Vector y;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    kernels::UnpackRow(matrix, row, weights.data());
    y.push_back(std::inner_product(weights.begin(), weights.end(), x.begin(), 0.0));
  }
  return y;
}

inline void RmsNorm(std::span<const float> weight, double epsilon, std::span<double> x) {
  const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  const double r = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= r * (weight.empty() ? 1 : double{weight[i]});
}

inline void Turn(const Rope& rope, int64_t position, std::span<double> x) {
  const RopeFrequencies frequencies = ComputeRopeFrequencies(rope);
  const auto pairs = static_cast<size_t>(rope.rotated / 2);
  for (size_t i = 0; i < pairs; ++i) {
    const bool adjacent = rope.pairing == kernels::RopePairing::kAdjacent;
    double& a = x[adjacent ? 2 * i : i];
    double& b = x[adjacent ? 2 * i + 1 : i + pairs];
    const double angle = static_cast<double>(position) * frequencies.angle[i];
    const double c = std::cos(angle) * frequencies.magnitude;
    const double s = std::sin(angle) * frequencies.magnitude;
    const double turned = a * c - b * s;
    b = a * s + b * c;
    a = turned;
  }
}

inline double Warmth(const QueryTemperature& temperature, int64_t position) {
  if (temperature.scale == 0) return 1;
  const int64_t periods = (position + temperature.shift) / temperature.length;
  return 1 + temperature.scale * std::log(1 + static_cast<double>(periods));
}

inline double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// The largest difference of an element.
inline double Largest(const std::vector<Vector>& a, const std::vector<Vector>& b) {
  CHECK(a.size() == b.size());
  double largest = 0;
  for (size_t row = 0; row < a.size(); ++row) {
    CHECK(a[row].size() == b[row].size());
    for (size_t i = 0; i < a[row].size(); ++i) {
      largest = std::max(largest, std::abs(a[row][i] - b[row][i]));
    }
  }
  return largest;
}

/// How far a summary is from that of these rows, at its greatest.
inline double DistanceOf(const ValueSummary& summary, const std::vector<Vector>& rows) {
  CHECK(summary.first.size() <= rows.front().size());
  double largest = 0;
  const auto add = [&](double a, double b) { largest = std::max(largest, std::abs(a - b)); };
  for (size_t i = 0; i < summary.first.size(); ++i) {
    add(double{summary.first[i]}, rows.front()[i]);
    add(double{summary.last[i]}, rows.back()[rows.back().size() - summary.last.size() + i]);
  }
  Vector all;
  for (const Vector& row : rows) all.insert(all.end(), row.begin(), row.end());
  const auto [min, max] = std::minmax_element(all.begin(), all.end());
  add(summary.min, *min);
  add(summary.max, *max);
  add(summary.mean, std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()));
  return largest;
}

}  // namespace skald::model
