/// What must hold of every plan: budgets, order, shares, and that nothing is left out.
///
/// Written from docs/scheduling.md, not from the scheduler: it looks at what was planned, not how.
#pragma once

#include <string>

#include "engine/step_plan.h"

namespace skald::sim {

/// Empty if all is well, else what is wrong.
std::string CheckPlan(const engine::SchedulerState& state, const engine::Budget& budget,
                      const engine::StepPlan& plan);

/// True if waiting sequence `index` was not admitted though it could have been, beside all that the
/// plan does.
bool CouldHaveBeenAdmitted(const engine::SchedulerState& state, const engine::Budget& budget,
                           const engine::StepPlan& plan, size_t index);

}  // namespace skald::sim
