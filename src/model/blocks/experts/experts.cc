#include "model/blocks/experts/experts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "base/status_macros.h"
#include "kernels/route/route.h"
#include "model/blocks/gated/gated.h"
#include "model/checks.h"

namespace skald::model {
namespace {

// The rows of a step that go to one expert. Every use of an expert by a row is a slot; the slots of
// a group are consecutive, in the order of the rows.
struct Group {
  int64_t expert;
  RowRange slots;
  int64_t first_chunk;  // of the groups before it, in chunks of a tile
};

// Uses are in the order of rows, and of ascending experts within a row.
struct Buffers {
  Rows scores;       // [rows][count]
  int32_t* chosen;   // [rows][used]: expert
  float* weights;    // [rows][used]
  int32_t* slots;    // [rows][used]: the slot of a use
  int32_t* sources;  // [slots]: the row of a slot
  Group* groups;     // [count]: those with slots, ascending
  Rows rows;         // [slots][width]: input of the experts, then their output
  Rows gate;         // [slots][hidden]; then the product of both
  Rows up;           // [slots][hidden]
};

template <typename T>
T* Carve(Carver& carver, int64_t count) {
  return reinterpret_cast<T*>(carver.Bytes(count * static_cast<int64_t>(sizeof(T))));
}

Buffers Layout(const Experts& experts, const StepLimits& limits, Carver& carver) {
  const int64_t slots = limits.rows * experts.used;
  Buffers buffers;
  buffers.scores = carver.Matrix(limits.rows, experts.count);
  buffers.chosen = Carve<int32_t>(carver, slots);
  buffers.weights = Carve<float>(carver, slots);
  buffers.slots = Carve<int32_t>(carver, slots);
  buffers.sources = Carve<int32_t>(carver, slots);
  buffers.groups = Carve<Group>(carver, experts.count);
  buffers.rows = carver.Matrix(slots, experts.width);
  buffers.gate = carver.Matrix(slots, experts.hidden);
  buffers.up = carver.Matrix(slots, experts.hidden);
  return buffers;
}

void RouteRows(const Experts& experts, const Buffers& buffers, int64_t row_count,
               const Context& context) {
  context.execution.pool.Run(row_count, [&](int64_t row, int) {
    kernels::Route({.scores = buffers.scores.row(row),
                    .experts = experts.count,
                    .used = experts.used,
                    .chosen = buffers.chosen + row * experts.used,
                    .weights = buffers.weights + row * experts.used});
  });
}

// Sorts the uses by expert: a counting sort, so rows of a group keep their order. One thread: a few
// thousand integers.
std::span<const Group> GroupUses(const Experts& experts, const Buffers& buffers, int64_t uses) {
  for (int64_t expert = 0; expert < experts.count; ++expert) {
    buffers.groups[expert] = {.expert = expert, .slots = {0, 0}, .first_chunk = 0};
  }
  for (int64_t use = 0; use < uses; ++use) ++buffers.groups[buffers.chosen[use]].slots.count;
  int64_t next = 0;
  for (int64_t expert = 0; expert < experts.count; ++expert) {
    buffers.groups[expert].slots.first = next;
    next += buffers.groups[expert].slots.count;
  }
  for (int64_t use = 0; use < uses; ++use) {
    RowRange& slots = buffers.groups[buffers.chosen[use]].slots;
    buffers.slots[use] = static_cast<int32_t>(slots.first);
    buffers.sources[slots.first] = static_cast<int32_t>(use / experts.used);
    ++slots.first;  // the next free slot; set right below
  }
  size_t count = 0;
  int64_t chunks = 0;
  for (int64_t expert = 0; expert < experts.count; ++expert) {
    Group group = buffers.groups[expert];
    if (group.slots.count == 0) continue;
    group.slots.first -= group.slots.count;
    group.first_chunk = chunks;
    chunks += DivCeil<int64_t>(group.slots.count, kernels::kTileTokens);
    buffers.groups[count++] = group;
  }
  return {buffers.groups, count};
}

// Calls visit(slots) in parallel for every tile of every group: tiles do not cross groups.
template <typename Visit>
void ForEachChunk(std::span<const Group> groups, const Context& context, Visit visit) {
  const Group& last = groups.back();
  const int64_t chunks =
      last.first_chunk + DivCeil<int64_t>(last.slots.count, kernels::kTileTokens);
  context.execution.pool.Run(chunks, [&](int64_t chunk, int) {
    const auto after = std::upper_bound(
        groups.begin(), groups.end(), chunk,
        [](int64_t value, const Group& group) { return value < group.first_chunk; });
    const Group& group = *(after - 1);
    const int64_t offset = (chunk - group.first_chunk) * kernels::kTileTokens;
    visit({group.slots.first + offset,
           std::min<int64_t>(kernels::kTileTokens, group.slots.count - offset)});
  });
}

// Calls visit(group, panels) in parallel for all panels of `matrix`, of which every group has one
// of the same shape.
template <typename Visit>
void ForEachPanelRange(std::span<const Group> groups, const kernels::PackedMatrix& matrix,
                       const Context& context, Visit visit) {
  ThreadPool& pool = context.execution.pool;
  int64_t most = 0;
  for (const Group& group : groups) most = std::max(most, group.slots.count);
  const int64_t per_unit = PanelsPerUnit(matrix, most, pool.thread_count());
  const int64_t units = DivCeil(matrix.panel_count(), per_unit);
  pool.Run(static_cast<int64_t>(groups.size()) * units, [&](int64_t unit, int worker) {
    const int64_t first = unit % units * per_unit;
    const int64_t count = std::min(per_unit, matrix.panel_count() - first);
    visit(groups[static_cast<size_t>(unit / units)], PanelRange{first, count, worker});
  });
}

// Brings the rows of each group together and prepares them for gate and up.
void PrepareGroups(const Experts& experts, const Buffers& buffers, std::span<const Group> groups,
                   const Rows& source, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kPrepare);
  const std::array inputs = {Product{&experts.gate[0], {}}, Product{&experts.up[0], {}}};
  const Formats formats = FormatsOf(inputs);
  ForEachChunk(groups, context, [&](const RowRange& slots) {
    for (int64_t slot = slots.first; slot < slots.first + slots.count; ++slot) {
      std::copy_n(source.row(buffers.sources[slot]), experts.width, buffers.rows.row(slot));
    }
    Quantize(buffers.rows, slots, experts.width, formats, context);
  });
}

// Gate, up and down of every group.
void RunGroups(const Experts& experts, const Buffers& buffers, std::span<const Group> groups,
               const Context& context) {
  StepProfile* profile = context.execution.profile;
  {
    const ScopedPhase phase(profile, Phase::kGateUp);
    ForEachPanelRange(
        groups, experts.gate[0], context, [&](const Group& group, const PanelRange& panels) {
          const auto expert = static_cast<size_t>(group.expert);
          MultiplyPanelsGated(
              {{&experts.gate[expert], buffers.gate}, {&experts.up[expert], buffers.up}}, panels,
              group.slots, context);
        });
  }
  {
    const ScopedPhase phase(profile, Phase::kPrepare);
    const std::array inputs = {Product{&experts.down[0], {}}};
    const Formats formats = FormatsOf(inputs);
    ForEachChunk(groups, context, [&](const RowRange& slots) {
      Quantize(buffers.gate, slots, experts.hidden, formats, context);
    });
  }
  const ScopedPhase phase(profile, Phase::kDown);
  ForEachPanelRange(
      groups, experts.down[0], context, [&](const Group& group, const PanelRange& panels) {
        const auto expert = static_cast<size_t>(group.expert);
        MultiplyPanels({&experts.down[expert], buffers.rows}, panels, group.slots, context);
      });
}

// The weighted sum of each row's experts, in ascending order of the experts: never in the order in
// which groups were computed.
void Combine(const Experts& experts, const Buffers& buffers, int64_t row_count,
             const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRoute);
  context.execution.pool.Run(row_count, [&](int64_t row, int) {
    float* sum = context.workspace.projected.row(row);
    std::fill_n(sum, experts.width, 0.0f);
    for (int64_t use = row * experts.used; use < (row + 1) * experts.used; ++use) {
      context.execution.kernels.add_scaled(
          buffers.weights[use], buffers.rows.row(buffers.slots[use]), sum, experts.width);
    }
  });
}

// Experts that `rows` rows read, if each chooses `used` of them evenly and by itself.
double ExpertsRead(const Experts& experts, int64_t rows) {
  const auto count = static_cast<double>(experts.count);
  const double missed = 1 - static_cast<double>(experts.used) / count;
  return count * (1 - std::pow(missed, static_cast<double>(rows)));
}

}  // namespace

Status Validate(const Experts& experts) {
  RETURN_IF_ERROR(InRange("expert count", experts.count, 1, kMaxExperts));
  RETURN_IF_ERROR(InRange("used experts", experts.used, 1, experts.count));
  return InRange("expert feed forward length", experts.hidden, 1, kMaxWidth);
}

void Declare(Experts& experts, TensorList& tensors) {
  const int64_t count = experts.count;
  tensors.Matrix("ffn_gate_inp.weight", count, experts.width, &experts.router);
  tensors.Slices("ffn_gate_exps.weight", {count, experts.hidden, experts.width}, &experts.gate);
  tensors.Slices("ffn_up_exps.weight", {count, experts.hidden, experts.width}, &experts.up);
  tensors.Slices("ffn_down_exps.weight", {count, experts.width, experts.hidden}, &experts.down);
}

Needs Size(const Experts& experts, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(experts, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, experts.width);
  needs.AddInput(limits.rows * experts.used, experts.width);
  needs.AddInput(limits.rows * experts.used, experts.hidden);
  return needs;
}

void Run(const Experts& experts, const Input& input, const Context& context) {
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(experts, context.workspace.limits(), carver);
  const std::array router = {Product{&experts.router, buffers.scores}};
  Prepare(input, router, context);
  Multiply(router, input.row_count, Phase::kRoute, context);
  RouteRows(experts, buffers, input.row_count, context);
  const std::span<const Group> groups = GroupUses(experts, buffers, input.row_count * experts.used);
  // Behind the router: its tiles lie where those of the groups go.
  PrepareGroups(experts, buffers, groups, input.source(), context);
  RunGroups(experts, buffers, groups, context);
  Combine(experts, buffers, input.row_count, context);
}

void AddWork(const Experts& experts, int64_t rows, StepWork& work) {
  AddWork(std::array{&experts.router}, rows, Phase::kRoute, work);
  const int64_t uses = rows * experts.used;
  const double read = ExpertsRead(experts, rows);
  const auto add = [&](const kernels::PackedMatrix& matrix, Phase phase) {
    Work each = MultiplyWork(matrix, uses);
    each.bytes *= read;
    work[phase].Add(each);
  };
  add(experts.gate[0], Phase::kGateUp);
  add(experts.up[0], Phase::kGateUp);
  add(experts.down[0], Phase::kDown);
  Work& prepare = work[Phase::kPrepare];
  prepare.Add(PrepareWork(std::array{&experts.gate[0], &experts.up[0]}, uses));
  prepare.Add(PrepareWork(std::array{&experts.down[0]}, uses));
  work[Phase::kRoute].bytes += static_cast<double>(uses * experts.width * int64_t{sizeof(float)});
}

}  // namespace skald::model
