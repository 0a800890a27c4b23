#include <algorithm>
#include <array>
#include <span>

#include "model/blocks/experts/buffers.h"
#include "model/blocks/experts/experts.h"
#include "model/blocks/experts/groups.h"
#include "model/blocks/gated/gated.h"
#include "model/blocks/gathered.h"
#include "model/step_tap.h"

namespace skald::model {
namespace {

// One Run: what its parts share.
struct Pass {
  const Experts& experts;
  const ExpertBuffers& buffers;
  const Input& input;
  const Context& context;

  ThreadPool& pool() const { return context.execution.pool; }
  bool has_selector() const {
    return experts.has_shared() && experts.shared.weight == SharedWeight::kSigmoid;
  }
  bool has_latent() const { return experts.latent > 0; }
  bool routes_apart() const { return experts.router_norm.exists(); }
  // Experts read the row as the router does: it needs no copy for each.
  bool is_one_row() const {
    return input.row_count == 1 && experts.weight == ExpertWeight::kOfOutput && !has_latent();
  }
  // The rows that the experts read.
  const Rows& source() const { return has_latent() ? buffers.latent : input.source(); }
  // The numbers of one expert among those of all.
  std::span<const float> Part(const std::vector<float>& all, size_t expert) const {
    const size_t length = all.size() / static_cast<size_t>(experts.count);
    return std::span(all).subspan(expert * length, length);
  }
  Product gate(size_t expert) const {
    return {&experts.gate[expert], ColumnsOf(buffers.gate, experts.HiddenPart()),
            Part(experts.gate_bias, expert)};
  }
  Product up(size_t expert) const {
    // What goes into down stands in the place of the gates, also where there are none.
    const Rows& out = experts.is_gated() ? buffers.up : buffers.gate;
    return {&experts.up[expert], ColumnsOf(out, experts.HiddenPart()),
            Part(experts.up_bias, expert)};
  }
  Product down(size_t expert) const {
    return {&experts.down[expert], ColumnsOf(buffers.rows, experts.OutputPart()),
            Part(experts.down_bias, expert)};
  }
  Product shared_gate() const {
    return {&experts.shared.gate, ColumnsOf(buffers.shared_gate, experts.shared.HiddenPart())};
  }
  Product shared_up() const {
    const Rows& out = experts.is_gated() ? buffers.shared_up : buffers.shared_gate;
    return {&experts.shared.up, ColumnsOf(out, experts.shared.HiddenPart())};
  }
  Product shared_down() const {
    return {&experts.shared.down, ColumnsOf(buffers.shared_out, experts.StreamPart())};
  }
  Product router() const { return {&experts.router, buffers.scores, experts.router_bias}; }
  Product selector() const { return {&experts.shared.selector, buffers.selector}; }
  Product latent_down() const {
    return {&experts.latent_down, ColumnsOf(buffers.latent, experts.LatentPart())};
  }
};

// Products that share an input: up to as many as a mixture has.
struct Readers {
  std::array<Product, 7> products = {};
  size_t count = 0;

  void Add(const Product& product) { products[count++] = product; }
  std::span<const Product> all() const { return std::span(products).first(count); }
};

// What is multiplied with the rows as they are, before anything is chosen.
void AddScores(const Pass& pass, Readers* readers) {
  if (!pass.routes_apart()) readers->Add(pass.router());
  if (pass.has_selector()) readers->Add(pass.selector());
  if (pass.has_latent()) readers->Add(pass.latent_down());
}

// Gate, where there is one, and up of some panels, and what becomes of them.
void OpenPanels(const Pass& pass, const GatedProducts& products, const PanelRange& panels,
                const RowRange& rows) {
  if (pass.experts.is_gated()) {
    MultiplyPanelsGated(products, panels, rows, pass.context);
  } else {
    MultiplyPanelsPlain(products.up, pass.experts.activation, panels, rows, pass.context);
  }
}

// The panels of a matrix, cut into units of work.
struct PanelUnits {
  int64_t panels;
  int64_t per_unit;
  int64_t count() const { return DivCeil(panels, per_unit); }
  PanelRange range(int64_t unit, int worker) const {
    return {unit * per_unit, std::min(per_unit, panels - unit * per_unit), worker};
  }
};

// The units of one matrix of each of so many groups: they share the threads, so that many of them
// need few units each.
PanelUnits UnitsOf(const kernels::PackedMatrix& matrix, size_t groups, const Pass& pass) {
  const auto threads = static_cast<size_t>(pass.pool().thread_count());
  const auto share = static_cast<int>(DivCeil(threads, groups));
  // As for one row: how many a group has is not the same for all, and its matrices are small.
  const int64_t per_unit = PanelsPerUnit(matrix, 1, pass.context.execution.kernels, share);
  return {matrix.panel_count(), per_unit};
}

// The scores of a router that reads the rows through a norm of its own. Returns the input of the
// others, who find the sum made.
Input RouteApart(const Pass& pass) {
  Input input = pass.input;
  if (!pass.routes_apart()) return input;
  input.norm = &pass.experts.router_norm;
  input.normed = pass.buffers.routed;
  const std::array router = {pass.router()};
  Prepare(input, router, pass.context);
  Multiply(router, input.row_count, Phase::kRoute, pass.context);
  input = pass.input;
  input.addend = {};
  return input;
}

// The norm of rows that only groups of them read.
void NormRows(const Input& input, const Pass& pass) {
  pass.pool().Run(input.row_count, [&](int64_t row, int) {
    AddAndNorm(input, {row, 1}, pass.experts.width, pass.context.execution);
  });
}

// Sum, norm, and the formats of everything that reads the rows as they are.
void PrepareRows(const Pass& pass) {
  const Input input = RouteApart(pass);
  Readers readers;
  AddScores(pass, &readers);
  const bool gated = pass.experts.is_gated();
  if (pass.experts.has_shared()) {
    if (gated) readers.Add(pass.shared_gate());
    readers.Add(pass.shared_up());
  }
  if (pass.is_one_row()) {
    if (gated) readers.Add(pass.gate(0));
    readers.Add(pass.up(0));
  }
  if (readers.count == 0) return NormRows(input, pass);
  Prepare(input, readers.all(), pass.context);
}

void ScoreRows(const Pass& pass) {
  Readers readers;
  AddScores(pass, &readers);
  if (readers.count == 0) return;
  const int64_t rows = pass.input.row_count;
  Multiply(readers.all(), rows, Phase::kRoute, pass.context);
  if (!pass.has_latent()) return;
  Gather(pass.buffers.latent, rows, pass.experts.LatentPart(), Phase::kRoute, pass.context);
}

// Gate and up of the shared expert, before the tiles of the rows make room for those of the groups.
void OpenShared(const Pass& pass) {
  if (!pass.experts.has_shared()) return;
  const ScopedPhase phase(pass.context.execution.profile, Phase::kGateUp);
  const int64_t rows = pass.input.row_count;
  const PanelUnits units = UnitsOf(pass.experts.shared.up, 1, pass);
  const GatedProducts shared = {
      .gate = pass.shared_gate(), .up = pass.shared_up(), .limit = pass.experts.shared.limit};
  pass.pool().Run(units.count(), [&](int64_t unit, int worker) {
    OpenPanels(pass, shared, units.range(unit, worker), {0, rows});
  });
}

void ScaleScores(const Experts& experts, float* scores) {
  if (experts.score_scale == 1) return;
  for (int64_t i = 0; i < experts.count; ++i) scores[i] = scores[i] * experts.score_scale;
}

// The factors of what experts give go into their weights.
void ScaleWeights(const Pass& pass, int64_t row) {
  const Experts& experts = pass.experts;
  if (experts.output_factors.empty()) return;
  for (int64_t use = row * experts.used; use < (row + 1) * experts.used; ++use) {
    const auto expert = static_cast<size_t>(pass.buffers.chosen[use]);
    pass.buffers.weights[use] = pass.buffers.weights[use] * experts.output_factors[expert];
  }
}

void RouteRows(const Pass& pass) {
  const Experts& experts = pass.experts;
  const ExpertBuffers& buffers = pass.buffers;
  pass.pool().Run(pass.input.row_count, [&](int64_t row, int) {
    ScaleScores(experts, buffers.scores.row(row));
    kernels::Route({.rule = experts.rule,
                    .scores = buffers.scores.row(row),
                    .bias = experts.choice_bias.empty() ? nullptr : experts.choice_bias.data(),
                    .choice = buffers.choice.row(row),
                    .experts = experts.count,
                    .used = experts.used,
                    .chosen = buffers.chosen + row * experts.used,
                    .weights = buffers.weights + row * experts.used});
    ScaleWeights(pass, row);
  });
}

void ShowChosen(const Pass& pass) {
  const Execution& execution = pass.context.execution;
  StepTap* tap = execution.tap();
  if (tap == nullptr || !tap->wishes().experts) return;
  const auto uses = static_cast<size_t>(pass.input.row_count * pass.experts.used);
  tap->SeeExperts(execution.profile->part(), pass.input.row_count, {pass.buffers.chosen, uses},
                  {pass.buffers.weights, uses});
}

std::span<const Group> GroupRows(const Pass& pass) {
  return GroupUses({.count = pass.input.row_count * pass.experts.used,
                    .experts = pass.experts.count,
                    .chosen = pass.buffers.chosen,
                    .slots = pass.buffers.slots,
                    .sources = pass.buffers.sources,
                    .groups = pass.buffers.groups});
}

// Brings the rows of each group together and prepares them for gate and up.
void PrepareGroups(const Pass& pass, std::span<const Group> groups) {
  const Experts& experts = pass.experts;
  const ExpertBuffers& buffers = pass.buffers;
  const ScopedPhase phase(pass.context.execution.profile, Phase::kPrepare);
  Readers readers;
  if (experts.is_gated()) readers.Add(pass.gate(0));
  readers.Add(pass.up(0));
  const Formats formats = FormatsOf(readers.all());
  const int64_t width = experts.expert_width();
  pass.pool().Run(ChunkCount(groups), [&](int64_t chunk, int) {
    const RowRange slots = ChunkOf(groups, chunk);
    for (int64_t slot = slots.first; slot < slots.first + slots.count; ++slot) {
      const int64_t use = buffers.sources[slot];
      const float* source = pass.source().row(use / experts.used);
      float* row = buffers.rows.row(slot);
      if (experts.weight == ExpertWeight::kOfOutput) {
        std::copy_n(source, width, row);
      } else {
        std::fill_n(row, width, 0.0f);
        pass.context.execution.kernels.add_scaled(buffers.weights[use], source, row, width);
      }
    }
    Quantize(buffers.rows, slots, width, formats, pass.context);
  });
}

// Gate and up of every group.
void OpenGroups(const Pass& pass, std::span<const Group> groups) {
  const ScopedPhase phase(pass.context.execution.profile, Phase::kGateUp);
  const PanelUnits units = UnitsOf(pass.experts.up[0], groups.size(), pass);
  const auto count = static_cast<int64_t>(groups.size());
  pass.pool().Run(count * units.count(), [&](int64_t unit, int worker) {
    const Group& group = groups[static_cast<size_t>(unit / units.count())];
    const auto expert = static_cast<size_t>(group.expert);
    RowRange slots = group.slots;
    if (pass.is_one_row()) slots.prepared = 0;
    const Product up = pass.up(expert);
    const Product gate = pass.experts.is_gated() ? pass.gate(expert) : up;
    OpenPanels(pass, {gate, up, pass.experts.function, pass.experts.limit},
               units.range(unit % units.count(), worker), slots);
  });
}

// What goes into down, of all ranks.
void GatherHidden(const Pass& pass) {
  const int64_t rows = pass.input.row_count;
  const Experts& experts = pass.experts;
  Gather(pass.buffers.gate, rows * experts.used, experts.HiddenPart(), Phase::kGateUp,
         pass.context);
  if (!experts.has_shared()) return;
  Gather(pass.buffers.shared_gate, rows, experts.shared.HiddenPart(), Phase::kGateUp, pass.context);
}

RowRange SharedRows(const Pass& pass) {
  const int64_t rows = pass.input.row_count;
  return {0, rows, SharedPlace(pass.experts, rows * pass.experts.used)};
}

// Prepares the hidden rows for down.
void PrepareHidden(const Pass& pass, std::span<const Group> groups) {
  const ScopedPhase phase(pass.context.execution.profile, Phase::kPrepare);
  const Formats formats = FormatsOf(std::array{pass.down(0)});
  const int64_t chunks = ChunkCount(groups);
  const RowRange shared = SharedRows(pass);
  const int64_t shared_chunks =
      pass.experts.has_shared() ? DivCeil<int64_t>(shared.count, kernels::kTileTokens) : 0;
  pass.pool().Run(chunks + shared_chunks, [&](int64_t chunk, int) {
    if (chunk < chunks) {
      Quantize(pass.buffers.gate, ChunkOf(groups, chunk), pass.experts.hidden, formats,
               pass.context);
      return;
    }
    const int64_t first = (chunk - chunks) * kernels::kTileTokens;
    const int64_t count = std::min<int64_t>(kernels::kTileTokens, shared.count - first);
    Quantize(pass.buffers.shared_gate, {first, count, shared.prepared + first},
             pass.experts.shared.hidden, FormatsOf(std::array{pass.shared_down()}), pass.context);
  });
}

// Down of every group and of the shared expert: one loop, no barrier between them.
void CloseAll(const Pass& pass, std::span<const Group> groups) {
  const ScopedPhase phase(pass.context.execution.profile, Phase::kDown);
  const PanelUnits units = UnitsOf(pass.experts.down[0], groups.size(), pass);
  const int64_t grouped = static_cast<int64_t>(groups.size()) * units.count();
  const RowRange shared = SharedRows(pass);
  const PanelUnits shared_units =
      pass.experts.has_shared() ? UnitsOf(pass.experts.shared.down, 1, pass) : PanelUnits{0, 1};
  pass.pool().Run(grouped + shared_units.count(), [&](int64_t unit, int worker) {
    if (unit >= grouped) {
      MultiplyPanels(pass.shared_down(), shared_units.range(unit - grouped, worker), shared,
                     pass.context);
      return;
    }
    const Group& group = groups[static_cast<size_t>(unit / units.count())];
    MultiplyPanels(pass.down(static_cast<size_t>(group.expert)),
                   units.range(unit % units.count(), worker), group.slots, pass.context);
  });
}

void AddShared(const Pass& pass, int64_t row, float* sum) {
  if (!pass.experts.has_shared()) return;
  const kernels::KernelTable& kernels = pass.context.execution.kernels;
  const Product down = pass.shared_down();
  const float* out = down.out.row(row);
  if (pass.has_selector()) {
    const float weight = kernels::Sigmoid(*pass.buffers.selector.row(row));
    kernels.add_scaled(weight, out, sum, down.weights->rows);
  } else {
    kernels.add(out, sum, down.weights->rows);
  }
}

// The weighted sum of each row's experts, in ascending order of the experts: never in the order in
// which groups were computed. Of a rank, its columns.
void AddChosen(const Pass& pass, int64_t row, float* sum) {
  const Experts& experts = pass.experts;
  const ExpertBuffers& buffers = pass.buffers;
  const RowPart own = experts.OutputPart();
  const Rows given = ColumnsOf(buffers.rows, own);
  std::fill_n(sum, own.rows, 0.0f);
  for (int64_t use = row * experts.used; use < (row + 1) * experts.used; ++use) {
    const float weight = experts.weight == ExpertWeight::kOfOutput ? buffers.weights[use] : 1;
    pass.context.execution.kernels.add_scaled(weight, given.row(buffers.slots[use]), sum, own.rows);
  }
}

void Combine(const Pass& pass) {
  const ScopedPhase phase(pass.context.execution.profile, Phase::kRoute);
  const Rows& projected = pass.context.workspace.projected;
  const RowPart own = pass.experts.OutputPart();
  pass.pool().Run(pass.input.row_count, [&](int64_t row, int) {
    float* sum = ColumnsOf(projected, own).row(row);
    AddChosen(pass, row, sum);
    AddShared(pass, row, sum);
  });
}

// The same where the experts' sum is latent.
void CombineLatent(const Pass& pass) {
  const Context& context = pass.context;
  const int64_t rows = pass.input.row_count;
  const Rows& latent = pass.buffers.latent;
  const RowPart own = pass.experts.OutputPart();
  {
    const ScopedPhase phase(context.execution.profile, Phase::kRoute);
    const Rows sums = ColumnsOf(latent, own);
    pass.pool().Run(rows, [&](int64_t row, int) { AddChosen(pass, row, sums.row(row)); });
  }
  const Rows given = ColumnsOf(context.workspace.projected, pass.experts.StreamPart());
  MultiplyParted({latent, rows, RunsOf(own), Phase::kRoute}, {&pass.experts.latent_up, given},
                 Phase::kDown, context);
  pass.pool().Run(rows, [&](int64_t row, int) { AddShared(pass, row, given.row(row)); });
}

}  // namespace

void Run(const Experts& experts, const Input& input, const Context& context) {
  Carver carver(context.workspace.block);
  const ExpertBuffers buffers = LayoutExperts(experts, context.workspace.limits(), carver);
  const Pass pass = {experts, buffers, input, context};
  PrepareRows(pass);
  ScoreRows(pass);
  OpenShared(pass);
  RouteRows(pass);
  ShowChosen(pass);
  const std::span<const Group> groups = GroupRows(pass);
  // Behind all that reads the rows as they are: their tiles lie where those of the groups go.
  if (!pass.is_one_row()) PrepareGroups(pass, groups);
  OpenGroups(pass, groups);
  GatherHidden(pass);
  PrepareHidden(pass, groups);
  CloseAll(pass, groups);
  if (pass.has_latent()) {
    CombineLatent(pass);
  } else {
    Combine(pass);
  }
  Gather(context.workspace.projected, input.row_count, experts.StreamPart(), Phase::kRoute,
         context);
}

}  // namespace skald::model
