#include "model/blocks/gathered.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/isa/isa.h"
#include "kernels/pack/panel.h"
#include "kernels/quantize/quantize.h"
#include "kernels/test_data.h"
#include "model/network.h"
#include "model/workspace.h"
#include "ranks/thread_ranks.h"

namespace skald::model {
namespace {

using tensor::DType;

constexpr int64_t kOutputs = 32;
constexpr int64_t kMostRows = 45;

float Element(int64_t row, int64_t column) {
  return std::sin(static_cast<float>(row * 131 + column * 7)) * static_cast<float>(1 + row % 3);
}

class RandomMatrix {
 public:
  RandomMatrix(DType dtype, int64_t cols) {
    matrix = {.type = kernels::PanelTypeFor(dtype), .rows = kOutputs, .cols = cols};
    const auto panel_bytes = static_cast<size_t>(matrix.panel_bytes());
    storage_ = *AlignedBuffer::Create(panel_bytes * static_cast<uint64_t>(matrix.panel_count()));
    std::mt19937 random(1);
    for (int64_t panel = 0; panel < matrix.panel_count(); ++panel) {
      const std::vector<std::byte> rows =
          kernels::RandomBlocks(dtype, cols * kernels::kPanelRows, random);
      kernels::PackPanel(dtype, rows, kernels::kPanelRows, cols,
                         storage_.data() + static_cast<size_t>(panel) * panel_bytes);
    }
    matrix.panels = storage_.data();
  }

  kernels::PackedMatrix matrix;

 private:
  AlignedBuffer storage_;
};

// Counts what a rank gives.
class Counting final : public ranks::Exchange {
 public:
  explicit Counting(ranks::Exchange& end) : end_(end) {}
  void Gather(const ranks::Columns& own) override {
    ++gathers;
    bytes += own.row_count * own.runs * own.count * int64_t{sizeof(float)};
    end_.Gather(own);
  }
  void GatherToFirst(const ranks::Columns& own) override { end_.GatherToFirst(own); }

  int64_t gathers = 0;
  int64_t bytes = 0;

 private:
  ranks::Exchange& end_;
};

bool Has(const ColumnRuns& own, int64_t column) {
  for (int64_t run = 0; run < own.runs; ++run) {
    const int64_t at = column - own.first - run * own.run_stride;
    if (at >= 0 && at < own.count) return true;
  }
  return false;
}

// What one rank sees.
struct Seen {
  std::vector<float> product;  // [rows][kOutputs]
  bool has_columns_of_others = false;
  int64_t gathers = 0;
  int64_t bytes = 0;
};

Seen MultiplyOn(const kernels::PackedMatrix& matrix, const ColumnRuns& own, int64_t count,
                ranks::Exchange* end) {
  Network network = {.vocab = 1, .width = kOutputs, .context = 64, .ropes = {}};
  network.layers.resize(1);
  network.layers[0].mixer =
      Gqa{.width = kOutputs, .heads = 1, .kv_heads = 1, .key_dim = 32, .value_dim = 32, .scale = 1};
  network.layers[0].feed_forward = Plain{.width = kOutputs, .hidden = matrix.cols};
  Workspace workspace = *Workspace::Create(network, {.rows = kMostRows});
  kv::KvStore store = *kv::KvStore::Create(KvLayoutOf(network, kernels::KvType::kF32), 1);
  const kernels::KernelTable kernels = kernels::TableFor(kernels::DetectIsa());
  ThreadPool pool(1);
  std::optional<Counting> counting;
  if (end != nullptr) counting.emplace(*end);
  const Execution execution = {kernels, pool, nullptr, end == nullptr ? nullptr : &*counting};
  Carver carver(workspace.block);
  const Rows rows = carver.Matrix(kMostRows, matrix.cols);
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t column = 0; column < matrix.cols; ++column) {
      rows.row(row)[column] =
          Has(own, column) ? Element(row, column) : std::numeric_limits<float>::quiet_NaN();
    }
  }
  MultiplyParted({rows, count, own, Phase::kGateUp}, {&matrix, workspace.projected}, Phase::kDown,
                 {store, workspace, {}, execution});
  Seen seen;
  for (int64_t row = 0; row < count; ++row) {
    const float* out = workspace.projected.row(row);
    seen.product.insert(seen.product.end(), out, out + kOutputs);
    for (int64_t column = 0; column < matrix.cols; ++column) {
      if (!Has(own, column) && !std::isnan(rows.row(row)[column])) {
        seen.has_columns_of_others = true;
      }
    }
  }
  if (counting) {
    seen.gathers = counting->gathers;
    seen.bytes = counting->bytes;
  }
  return seen;
}

std::vector<Seen> MultiplyOnRanks(const kernels::PackedMatrix& matrix,
                                  const std::vector<ColumnRuns>& parts, int64_t count) {
  ranks::ThreadRanks ends(static_cast<int>(parts.size()));
  std::vector<Seen> seen(parts.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    threads.emplace_back([&, rank] {
      seen[rank] = MultiplyOn(matrix, parts[rank], count, &ends.end(static_cast<int>(rank)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return seen;
}

bool SameBytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Case {
  int64_t cols;
  std::vector<ColumnRuns> parts;
};

// Parts alike, parts of different lengths of which one is none, runs, and parts whose ends lie in
// units of some formats or of all.
const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {512, {{.first = 0, .count = 256, .multiple = 128}, {256, 256, 1, 0, 256}}},
      {768,
       {{.first = 0, .count = 128, .multiple = 128},
        {128, 0, 1, 0, 128},
        {.first = 128, .count = 640, .multiple = 128}}},
      {768, {{0, 128, 3, 256, 128}, {128, 128, 3, 256, 128}}},
      {256, {{.first = 0, .count = 96, .multiple = 32}, {96, 160, 1, 0, 32}}},
      {256, {{.first = 0, .count = 112, .multiple = 16}, {112, 144, 1, 0, 16}}},
  };
  return cases;
}

int64_t UnitOf(const kernels::PackedMatrix& matrix) {
  return kernels::UnitColumns(kernels::InfoOf(matrix.type).activation);
}

TEST(MultiplyParted, GivesTheBytesOfOneRank) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
    for (const Case& each : Cases()) {
      const RandomMatrix random(dtype, each.cols);
      for (const int64_t count : std::array<int64_t, 5>{1, 13, 16, 32, kMostRows}) {
        const Seen alone =
            MultiplyOn(random.matrix, {.first = 0, .count = each.cols}, count, nullptr);
        for (const Seen& seen : MultiplyOnRanks(random.matrix, each.parts, count)) {
          EXPECT_TRUE(SameBytes(seen.product, alone.product))
              << static_cast<int>(dtype) << " " << each.cols << " columns, " << count << " rows";
        }
      }
    }
  }
}

// A rank that prepared what it shares with another would be wrong, and one that exchanged floats
// where it need not would be slow.
TEST(MultiplyParted, ExchangesTilesWhereUnitsHaveOneRank) {
  for (const DType dtype : {DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
    for (const Case& each : Cases()) {
      const RandomMatrix random(dtype, each.cols);
      const bool in_tiles = each.parts[0].multiple % UnitOf(random.matrix) == 0;
      for (const Seen& seen : MultiplyOnRanks(random.matrix, each.parts, kMostRows)) {
        EXPECT_EQ(seen.has_columns_of_others, !in_tiles) << static_cast<int>(dtype) << each.cols;
        // 45 rows: two full tiles, one of 12, one of 1.
        EXPECT_EQ(seen.gathers, in_tiles ? 3 : 1);
      }
    }
  }
}

TEST(AddGather, CountsWhatRanksExchange) {
  for (const DType dtype : {DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
    for (const Case& each : Cases()) {
      const RandomMatrix random(dtype, each.cols);
      for (const int64_t count : std::array<int64_t, 4>{1, 13, 32, kMostRows}) {
        const std::vector<Seen> seen = MultiplyOnRanks(random.matrix, each.parts, count);
        StepWork work;
        AddGather(each.parts[0], each.cols, random.matrix, count, work);
        int64_t given = 0;
        for (size_t rank = 1; rank < seen.size(); ++rank) given += seen[rank].bytes;
        EXPECT_EQ(work.gathered().gathers, seen[0].gathers);
        EXPECT_EQ(work.gathered().bytes, given)
            << static_cast<int>(dtype) << each.cols << " " << count;
      }
    }
  }
}

}  // namespace
}  // namespace skald::model
