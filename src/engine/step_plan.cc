#include "engine/step_plan.h"

#include <algorithm>

namespace skald::engine {

int64_t SharesOf(const std::vector<TenantView>& tenants) {
  int64_t shares = 0;
  for (const TenantView& each : tenants) shares += each.share;
  return shares;
}

int64_t TenantView::PartOf(int64_t all, int64_t shares) const {
  return std::max<int64_t>(1, all * share / shares);
}

int64_t StepPlan::row_count() const {
  int64_t count = 0;
  for (const PlannedRows& planned : rows) count += planned.count;
  return count;
}

std::string StepPlan::ToString() const {
  std::string text;
  for (const int32_t index : displaced) {
    if (!text.empty()) text += "; ";
    text += "displaced " + std::to_string(index);
  }
  for (const PlannedRows& planned : rows) {
    if (!text.empty()) text += "; ";
    text += planned.source == RowSource::kRunning ? "running " : "waiting ";
    text += std::to_string(planned.index) + " [" + std::to_string(planned.first) + ", " +
            std::to_string(planned.first + planned.count) + ")";
    if (planned.samples) text += " samples";
    if (planned.drafts > 0) text += " and " + std::to_string(planned.drafts) + " drafts";
  }
  return text;
}

}  // namespace skald::engine
