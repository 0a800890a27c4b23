/// Tenants: what those whose requests are in the engine have used of it, in rows over their share
/// (stride scheduling: Waldspurger and Weihl 1995; the start of one that comes: Goyal, Vin and
/// Cheng 1996, "Start-time fair queueing").
///
/// Who has used least goes first, so of those that always have something to compute each gets its
/// share, to some hundred rows. Time in which one has nothing to compute is not saved up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/step_plan.h"
#include "skald/request.h"

namespace skald::engine {

/// A tenant with requests that are not over.
struct Tenant {
  int64_t id = 0;
  TenantView view = {};
  int64_t requests = 0;
  double mask_seconds = 0;  ///< that masks of its requests took beside the steps
  int32_t index = 0;        ///< in Tenants::View
};

class Tenants {
 public:
  /// Rows that a tenant can have to its credit when a request of it comes: more than the largest
  /// share is owed while the smallest has a go (kMaxTenantShare x RowsInAGo of a common chunk).
  static constexpr int64_t kMostCredit = 8192;

  /// A request has come: its tenant, which stays where it is until all its requests have left.
  Tenant* Enter(const Request& request);
  void Leave(Tenant* tenant);

  /// Who goes next has used so much: one that comes now starts there.
  void Advance(int64_t used);

  /// Overwrites `*views` with all of them, by index.
  void View(std::vector<TenantView>* views) const;

  const std::vector<std::unique_ptr<Tenant>>& all() const { return tenants_; }

 private:
  std::vector<std::unique_ptr<Tenant>> tenants_;  // none without requests
  int64_t now_ = 0;  // what those have used that go next: where one that comes starts
};

}  // namespace skald::engine
