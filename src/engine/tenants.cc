#include "engine/tenants.h"

#include <algorithm>

#include "base/check.h"

namespace skald::engine {

Tenant* Tenants::Enter(const Request& request) {
  const auto found = std::find_if(tenants_.begin(), tenants_.end(),
                                  [&](const auto& tenant) { return tenant->id == request.tenant; });
  Tenant* tenant = nullptr;
  if (found != tenants_.end()) {
    tenant = found->get();
  } else {
    tenants_.push_back(std::make_unique<Tenant>());
    tenant = tenants_.back().get();
    tenant->id = request.tenant;
    tenant->index = static_cast<int32_t>(tenants_.size()) - 1;
    tenant->view.used = now_;
  }
  tenant->view.share = request.tenant_share;
  tenant->view.max_running = request.tenant_running;
  const int64_t credit = kMostCredit * kTenantScale / tenant->view.share;
  tenant->view.used = std::max(tenant->view.used, now_ - credit);
  ++tenant->requests;
  return tenant;
}

void Tenants::Leave(Tenant* tenant) {
  CHECK(tenant->requests > 0);
  if (--tenant->requests > 0) return;
  const auto index = static_cast<size_t>(tenant->index);
  std::swap(tenants_[index], tenants_.back());
  tenants_[index]->index = static_cast<int32_t>(index);
  tenants_.pop_back();
}

void Tenants::Advance(int64_t used) { now_ = std::max(now_, used); }

void Tenants::View(std::vector<TenantView>* views) const {
  views->clear();
  for (const auto& tenant : tenants_) views->push_back(tenant->view);
}

}  // namespace skald::engine
