// What people see of a core (skald/engine_view.h). Nothing here changes anything that a step reads.

#include <algorithm>

#include "base/checked_math.h"
#include "engine/core.h"

namespace skald::engine {
namespace {

// For each page, the request of a sequence that has it: its index among `requests`, or -1.
std::vector<int32_t> HoldersOf(const std::vector<Sequence*>& running,
                               const std::vector<RequestProgress>& requests, int64_t page_count) {
  std::vector<int32_t> holders(static_cast<size_t>(page_count), -1);
  for (const Sequence* sequence : running) {
    const auto found =
        std::lower_bound(requests.begin(), requests.end(), sequence->request->id,
                         [](const RequestProgress& each, RequestId id) { return each.id < id; });
    const auto index = static_cast<int32_t>(found - requests.begin());
    for (const kv::PageId page : sequence->table.pages())
      holders[static_cast<size_t>(page)] = index;
  }
  return holders;
}

void AddPage(const kv::PagePool& pool, kv::PageId page, PageCell* cell) {
  const int32_t references = pool.reference_count(page);
  const int32_t sequences = references - pool.cache_references(page);
  if (references == 0) {
    ++cell->free;
  } else if (sequences == 0) {
    ++cell->cached;
  } else {
    ++(sequences == 1 ? cell->held : cell->shared);
  }
}

PageMap MapOf(const kv::PagePool& pool, std::span<const int32_t> holders) {
  const int64_t count = pool.total_count();
  PageMap map = {.page_count = count,
                 .pages_per_cell = std::max<int64_t>(1, DivCeil(count, kMostPageCells))};
  map.cells.resize(static_cast<size_t>(DivCeil(count, map.pages_per_cell)));
  for (kv::PageId page = 0; page < static_cast<kv::PageId>(count); ++page) {
    PageCell& cell = map.cells[static_cast<size_t>(page / map.pages_per_cell)];
    AddPage(pool, page, &cell);
    const int32_t holder = holders[static_cast<size_t>(page)];
    if (holder >= 0) cell.request = holder;
  }
  return map;
}

}  // namespace

double Core::ExpectedSeconds() const { return token_budget_.ExpectedSeconds(RowsOfStep()); }

ViewedStep Core::ViewStep() const {
  ViewedStep view = {.number = stats_.steps,
                     .began_seconds = step_began_seconds_,
                     .computing = !step_.empty(),
                     .prompt_budget = budget_.prefill_rows,
                     .admitted = static_cast<int64_t>(plan_.admitted.size()),
                     .preempted = static_cast<int64_t>(preempted_.size()),
                     .expected_seconds = ExpectedSeconds()};
  int64_t positions = 0;
  for (const StepRows& rows : step_) {
    (rows.reason == RowReason::kDecode ? view.decode_rows : view.prompt_rows) += rows.count;
    view.guessed_rows += rows.drafts;
    view.work.logit_rows += int64_t{rows.samples};
    positions += rows.sequence->computed;
    view.rows.push_back(
        {.request = rows.sequence->request->id, .rows = rows.count, .reason = rows.reason});
  }
  view.work.rows = view.decode_rows + view.prompt_rows;
  view.work.sequences = static_cast<int64_t>(step_.size());
  view.work.mean_position = positions / std::max<int64_t>(1, view.work.sequences);
  return view;
}

// The step that the batch has been built for. Costs some nanoseconds a sequence.
void Core::NotePast(double seconds) {
  const model::StepBatch batch = batch_.batch();
  const auto sequences = static_cast<int64_t>(batch.sequences.size());
  int64_t positions = 0;
  for (const model::SequenceRows& rows : batch.sequences) positions += rows.first_position;
  last_ = {.seconds = seconds,
           .work = {.rows = batch.row_count(),
                    .sequences = sequences,
                    .mean_position = positions / std::max<int64_t>(1, sequences),
                    .logit_rows = static_cast<int64_t>(batch.logit_rows.size())}};
}

EngineView Core::View() const {
  EngineView view = {
      .seconds = clock_.Seconds(), .stats = Stats(), .step = ViewStep(), .last = last_};
  int64_t waiting = 0;
  for (const auto& request : requests_) {
    const bool runs = std::any_of(request->sequences.begin(), request->sequences.end(),
                                  [](const auto& each) { return each->running(); });
    if (runs || waiting++ < kMostViewedWaiting) view.requests.push_back(ProgressOf(*request));
  }
  const kv::PagePool& pool = cache_.pool();
  view.pages = MapOf(pool, HoldersOf(running_, view.requests, pool.total_count()));
  view.prefixes = cache_.tree().View();
  return view;
}

}  // namespace skald::engine
